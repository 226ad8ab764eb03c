/* What of a compiler's words goes into the next prompt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "evaluate/feedback.h"

static void reduce(const char *log, size_t len, struct kf_buf *out)
{
	*out = (struct kf_buf) { .max = 4096 };
	kf_build_log_reduce(log, len, out);
	assert_true(out->len <= 4096);
}

static void test_first_errors_are_kept_with_their_lines(void **state)
{
	static const char log[] =
		"/source/program.c: In function 'kf_forward':\n"
		"/source/program.c:3:9: warning: unused variable 'x'\n"
		"    3 |     int x;\n"
		"      |         ^\n"
		"/source/program.c: In function 'kf_forward':\n"
		"/source/program.c:5:5: error: 'y' undeclared\n"
		"    5 |     y = a / b;   // a/b\n"
		"      |     ^\n"
		"/source/program.c:5:5: note: each undeclared identifier\n"
		"/source/program.c:6:1: error: second\n"
		"/source/program.c:7:1: error: third\n"
		"/source/program.c:8:1: error: fourth\n";
	struct kf_buf out;

	(void)state;
	reduce(log, sizeof(log) - 1, &out);
	assert_string_equal(kf_buf_str(&out),
		"program.c: In function 'kf_forward':\n"
		"program.c:5:5: error: 'y' undeclared\n"
		"    5 |     y = a / b;   // a/b\n"
		"      |     ^\n"
		"program.c:5:5: note: each undeclared identifier\n"
		"program.c:6:1: error: second\n"
		"program.c:7:1: error: third\n");
	kf_buf_release(&out);
}

static void test_one_cause_is_told_once(void **state)
{
	static const char log[] =
		"x.c:1:1: error: unknown type name 'vec'\n"
		"    1 | vec a;\n"
		"x.c:2:1: error: unknown type name 'vec'\n"
		"    2 | vec b;\n"
		"x.c:3:1: error: unknown type name 'vec'\n"
		"x.c:9:1: error: another\n";
	struct kf_buf out;

	(void)state;
	reduce(log, sizeof(log) - 1, &out);
	assert_string_equal(kf_buf_str(&out),
		"x.c:1:1: error: unknown type name 'vec'\n"
		"    1 | vec a;\n"
		"x.c:9:1: error: another\n"
		"(the same 2 more times)\n");
	kf_buf_release(&out);
}

static void test_a_bare_argument_of_a_launch_gets_a_hint(void **state)
{
	static const char log[] =
		"launch.h:187:25: error: incompatible types\n"
		"launch.h:217:69: note: in definition of macro 'KF_ARGS_'\n"
		"launch.h:222:9: note: in expansion of macro 'kf_launch_with'\n"
		"/job/host.c:8:16: note: in expansion of macro 'kf_launch'\n";
	struct kf_buf out = { .max = 4096 };

	(void)state;
	reduce(log, sizeof(log) - 1, &out);
	assert_non_null(strstr(kf_buf_str(&out), "\nhost.c:8:16: note: in "
			       "expansion of macro 'kf_launch'\nhint: every "
			       "argument of a kernel stands in a macro"));
	kf_buf_release(&out);
	reduce(log, (size_t)(strstr(log, "/job") - log), &out);
	assert_null(strstr(kf_buf_str(&out), "hint"));
	kf_buf_release(&out);
}

static void test_the_lines_around_errors_are_shown(void **state)
{
	static const struct { const char *errors, *lines; } rows[] = {
		{ "x.c:2:1: error: one\nx.c:4:9: error: near it\n",
		  "x.c around line 2:\n     1 | a\n>    2 | b\n     3 | c\n"
		  "     4 | d\n     5 | e\n" },
		{ "x.c(9): error: the last line\n",
		  "x.c around line 9:\n     6 | f\n     7 | g\n     8 | h\n"
		  ">    9 | ?\xef\xbf\xbd\n" },
		{ "no.c:2:1: error: there is no such file\n", "" },
		{ "/etc/x.c:2:1: error: elsewhere\n", "" },
		{ "x.c:0: error: no line\n", "" },
		{ "ld: x.o: undefined reference to `foo'\n", "" },
		{ "", "" },
	};
	char dir[] = "/tmp/kforge-lines-XXXXXX";
	struct kf_err err = { 0 };

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(kf_file_write_in(dir, "x.c", "a\nb\nc\nd\ne\nf\ng\n"
					  "h\n\x01\xff\n", 19, &err), KF_OK);
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_buf out = { .max = 4096 };

		kf_build_lines(rows[i].errors, dir, &out);
		assert_string_equal(kf_buf_str(&out), rows[i].lines);
		kf_buf_release(&out);
	}
	assert_int_equal(kf_remove_tree(dir, &err), KF_OK);
}

static void test_other_words_of_trouble(void **state)
{
	static const struct { const char *log, *says; } rows[] = {
		{ "/usr/bin/ld: /tmp/cc1.o: undefined reference to `foo'\n",
		  "ld: cc1.o: undefined reference to `foo'\n" },
		{ "x.c:1:10: fatal error: /etc/passwd: No such file\n",
		  "x.c:1:10: fatal error: passwd: No such file\n" },
		{ "cc1: out of memory\n", "cc1: out of memory\n" },
		{ "no newline at the end", "no newline at the end\n" },
		{ "a path /only/folders/ and and/or\n",
		  "a path /only/folders/ and and/or\n" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_buf out;

		reduce(rows[i].log, strlen(rows[i].log), &out);
		assert_string_equal(kf_buf_str(&out), rows[i].says);
		kf_buf_release(&out);
	}
}

static void test_bytes_that_are_not_text_are_replaced(void **state)
{
	static const char log[] = "x.c:1:1: error: stray '\xd3' \x01 here\n";
	struct kf_buf out;

	(void)state;
	reduce(log, sizeof(log) - 1, &out);
	assert_string_equal(kf_buf_str(&out), "x.c:1:1: error: stray "
			    "'\xef\xbf\xbd' ? here\n");
	kf_buf_release(&out);
}

static void test_a_flood_is_bounded(void **state)
{
	size_t len = 2u << 20;
	char *log = kf_alloc(len + 1);
	struct kf_buf out;

	(void)state;
	memset(log, 'x', len);
	reduce(log, len, &out);
	assert_true(out.len > 0);
	kf_buf_release(&out);
	for (size_t i = 0; i < len; i += 64)
		memcpy(log + i, "\nx.c:1:1: note: in the expansion of a ma",
		       40);
	memcpy(log, "x.c:9:9: error: the one that matters    ", 40);
	reduce(log, len, &out);
	assert_non_null(strstr(kf_buf_str(&out), "the one that matters"));
	assert_true(out.len < 1500);
	kf_buf_release(&out);
	free(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_errors_are_kept_with_their_lines),
		cmocka_unit_test(test_one_cause_is_told_once),
		cmocka_unit_test(test_a_bare_argument_of_a_launch_gets_a_hint),
		cmocka_unit_test(test_the_lines_around_errors_are_shown),
		cmocka_unit_test(test_other_words_of_trouble),
		cmocka_unit_test(test_bytes_that_are_not_text_are_replaced),
		cmocka_unit_test(test_a_flood_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
