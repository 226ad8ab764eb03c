/* base_buf.c - growable bytes, ceilings, formatting, errors and log lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "base/base.h"

static void test_empty_buf_reads_as_empty_text(void **state)
{
	struct kf_buf buf = { .max = 10 };

	(void)state;
	assert_string_equal(kf_buf_str(&buf), "");
	assert_true(kf_buf_add(&buf, "", 0));
	assert_null(buf.data);
	kf_buf_clear(&buf);
	kf_buf_release(&buf);
}

static void test_buf_without_ceiling_holds_nothing(void **state)
{
	struct kf_buf buf = { 0 };

	(void)state;
	assert_false(kf_buf_puts(&buf, "a"));
	assert_int_equal(buf.len, 0);
	assert_true(kf_buf_puts(&buf, ""));
	kf_buf_release(&buf);
}

static void test_buf_keeps_the_first_max_bytes(void **state)
{
	static const struct {
		size_t max;
		bool whole;
		const char *kept;
	} row[] = {
		{ 0, false, "" },
		{ 1, false, "a" },
		{ 5, false, "abcde" },
		{ 6, true, "abcdef" },
		{ 7, true, "abcdef" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(row); i++) {
		struct kf_buf once = { .max = row[i].max };
		struct kf_buf twice = { .max = row[i].max };
		struct kf_buf print = { .max = row[i].max };

		assert_int_equal(kf_buf_puts(&once, "abcdef"), row[i].whole);
		kf_buf_puts(&twice, "abc");
		assert_int_equal(kf_buf_puts(&twice, "def"), row[i].whole);
		assert_int_equal(kf_buf_printf(&print, "%s%d%s", "abc", 4,
					       "ef"), row[i].whole);
		assert_string_equal(kf_buf_str(&once), row[i].kept);
		assert_string_equal(kf_buf_str(&twice), row[i].kept);
		assert_int_equal(print.len, strlen(row[i].kept));
		kf_buf_release(&once);
		kf_buf_release(&twice);
		kf_buf_release(&print);
	}
}

static void test_full_buf_takes_nothing_more(void **state)
{
	struct kf_buf buf = { .max = 2 };

	(void)state;
	assert_true(kf_buf_puts(&buf, "ab"));
	assert_false(kf_buf_puts(&buf, "c"));
	buf.max = 1;	/* a ceiling lowered below what is held */
	assert_false(kf_buf_puts(&buf, "c"));
	assert_string_equal(kf_buf_str(&buf), "ab");
	kf_buf_release(&buf);
}

static void test_buf_holds_nul_bytes_and_ends_with_one(void **state)
{
	struct kf_buf buf = { .max = 300 };

	(void)state;
	for (int i = 0; i < 100; i++) {
		assert_true(kf_buf_add(&buf, "x\0y", 3));
		assert_int_equal(buf.data[buf.len], '\0');
		assert_true(buf.cap > buf.len);
	}
	assert_int_equal(buf.len, 300);
	assert_memory_equal(buf.data + 297, "x\0y", 3);
	kf_buf_release(&buf);
}

static void test_clear_keeps_memory_and_release_keeps_max(void **state)
{
	struct kf_buf buf = { .max = 100 };
	const char *data;

	(void)state;
	kf_buf_puts(&buf, "something");
	data = buf.data;
	kf_buf_clear(&buf);
	assert_string_equal(kf_buf_str(&buf), "");
	kf_buf_puts(&buf, "else");
	assert_ptr_equal(buf.data, data);
	kf_buf_release(&buf);
	assert_null(buf.data);
	assert_int_equal(buf.cap, 0);
	assert_int_equal(buf.max, 100);
	assert_true(kf_buf_puts(&buf, "again"));
	kf_buf_release(&buf);
}

static void test_printf_is_whole_at_every_length(void **state)
{
	(void)state;
	/* 512 is the size of the stack buffer inside. */
	for (int width = 509; width < 516; width++) {
		struct kf_buf buf = { .max = 2000 };
		char *text = kf_format("%*d", width, 7);

		assert_true(kf_buf_printf(&buf, "%*d", width, 7));
		assert_int_equal(buf.len, width);
		assert_int_equal(buf.data[width - 1], '7');
		assert_string_equal(text, buf.data);
		free(text);
		kf_buf_release(&buf);
	}
}

static void test_strings_are_copied(void **state)
{
	char *copy = kf_strdup("abc"), *part = kf_strndup("abc", 2);
	char *none = kf_format("%s", "");
	char *memory = kf_alloc(0);

	(void)state;
	assert_string_equal(copy, "abc");
	assert_string_equal(part, "ab");
	assert_string_equal(none, "");
	assert_null(kf_strdup(NULL));
	memory = kf_realloc(memory, 0);
	assert_non_null(memory);
	free(memory);
	free(none);
	free(part);
	free(copy);
}

static void test_failure_keeps_code_and_sentence(void **state)
{
	struct kf_err err = { 0 };

	(void)state;
	assert_int_equal(kf_fail(&err, KF_E_LIMIT, "%s is too %s", "it",
				 "large"), KF_E_LIMIT);
	assert_int_equal(err.code, KF_E_LIMIT);
	assert_string_equal(err.text, "it is too large");
	errno = ENOENT;
	assert_int_equal(kf_fail_errno(&err, "cannot open %s", "x"), KF_E_IO);
	assert_string_equal(err.text,
			    "cannot open x: No such file or directory");
	assert_int_equal(kf_fail(NULL, KF_E_INPUT, "nobody reads %d", 1),
			 KF_E_INPUT);
	assert_int_equal(kf_fail_errno(NULL, "nor this"), KF_E_IO);
}

static void test_long_sentence_is_cut_not_overrun(void **state)
{
	struct kf_err err;

	(void)state;
	errno = EIO;
	kf_fail_errno(&err, "%2000d", 1);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	kf_fail(&err, KF_E_IO, "%2000d", 1);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

static void test_every_code_has_a_name(void **state)
{
	(void)state;
	assert_string_equal(kf_code_name(KF_OK), "ok");
	for (int a = KF_OK; a <= KF_E_CANCELED; a++)
		for (int b = KF_OK; b < a; b++)
			assert_string_not_equal(
				kf_code_name((enum kf_code)a),
				kf_code_name((enum kf_code)b));
	assert_string_equal(kf_code_name((enum kf_code)99), "unknown");
}

static void keep_line(void *arg, enum kf_log_level level, const char *line)
{
	kf_buf_printf(arg, "%d:%zu:%.20s\n", (int)level, strlen(line), line);
}

static void test_log_drops_what_is_above_its_level(void **state)
{
	struct kf_buf kept = { .max = 1000 };
	struct kf_log log = { KF_LOG_INFO, keep_line, &kept };
	struct kf_log mute = { KF_LOG_TRACE, NULL, NULL };

	(void)state;
	kf_logf(&log, KF_LOG_ERROR, "%s", "bad");
	kf_logf(&log, KF_LOG_INFO, "news");
	kf_logf(&log, KF_LOG_DEBUG, "detail");
	kf_logf(&log, KF_LOG_WARN, "%-3000s", "long");
	kf_logf(NULL, KF_LOG_ERROR, "nobody");
	kf_logf(&mute, KF_LOG_ERROR, "nobody");
	assert_string_equal(kf_buf_str(&kept), "0:3:bad\n2:4:news\n"
			    "1:1023:long                \n");
	kf_buf_release(&kept);
}

int main(void)
{
	static const struct CMUnitTest test[] = {
		cmocka_unit_test(test_empty_buf_reads_as_empty_text),
		cmocka_unit_test(test_buf_without_ceiling_holds_nothing),
		cmocka_unit_test(test_buf_keeps_the_first_max_bytes),
		cmocka_unit_test(test_full_buf_takes_nothing_more),
		cmocka_unit_test(test_buf_holds_nul_bytes_and_ends_with_one),
		cmocka_unit_test(test_clear_keeps_memory_and_release_keeps_max),
		cmocka_unit_test(test_printf_is_whole_at_every_length),
		cmocka_unit_test(test_strings_are_copied),
		cmocka_unit_test(test_failure_keeps_code_and_sentence),
		cmocka_unit_test(test_long_sentence_is_cut_not_overrun),
		cmocka_unit_test(test_every_code_has_a_name),
		cmocka_unit_test(test_log_drops_what_is_above_its_level),
	};

	return cmocka_run_group_tests(test, NULL, NULL);
}
