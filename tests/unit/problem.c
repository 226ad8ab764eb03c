/* problem.c - problem files are read, and --set rewrites the right place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "problem/cast.h"
#include "problem/preset.h"
#include "problem/problem.h"
#include "problem/rewrite.h"

static const char source[] =
	"\"\"\"Text that only looks like code:\n"
	"N = 1\n"
	"\"\"\"\n"
	"import torch\n"
	"N = 16  # rows\n"
	"M: int = 32\n"
	"NAME = \"a # b = c\"\n"
	"SHAPE = (N,\n"
	"         M)\n"
	"a = b = 3\n"
	"H, W = 128, 7 * 4  # sides\n"
	"U, V = f(1, 2)\n"
	"P = 1; Q = 2\n"
	"TWICE = 1\n"
	"TWICE = 2\n"
	"E=N\n"
	"LONG = 1 + \\\n"
	"    2\n"
	"if N == 16:\n"
	"    INNER = 1\n"
	"def f(x=3):\n"
	"    LOCAL = 4\n"
	"    return x\n"
	"S = 'it''s'; T = 5\n";

static void test_set_changes_one_assignment_only(void **state)
{
	static const struct { const char *set, *before, *after; } rows[] = {
		{ "N=64", "N = 16  # rows\n", "N = 64  # rows\n" },
		{ "M=8*1024", "M: int = 32\n", "M: int = 8*1024\n" },
		{ "NAME='x'", "NAME = \"a # b = c\"\n", "NAME = 'x'\n" },
		{ "H=64", "128, 7 * 4  # sides", "64, 7 * 4  # sides" },
		{ "W=9", "128, 7 * 4  # sides", "128, 9  # sides" },
		{ "H=1,2", "128, 7 * 4  # sides", "(1,2), 7 * 4  # sides" },
		{ "P=9", "P = 1; Q = 2\n", "P = 9; Q = 2\n" },
		{ "E=(1, 2)", "E=N\n", "E=(1, 2)\n" },
		{ "S=1e-3", "S = 'it''s'; T = 5\n", "S = 1e-3; T = 5\n" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		const char *place = strstr(source, rows[i].before);
		struct kf_err err = { 0 };
		char *out, *wanted;

		assert_non_null(place);
		wanted = kf_format("%.*s%s%s", (int)(place - source), source,
				   rows[i].after,
				   place + strlen(rows[i].before));
		if (kf_rewrite(source, rows[i].set, "--set", &out, &err))
			print_message("# %s\n", err.text);
		assert_non_null(out);
		assert_string_equal(out, wanted);
		free(wanted);
		free(out);
	}
}

static void test_set_that_cannot_be_done_says_why(void **state)
{
	static const struct { const char *set, *words; } rows[] = {
		{ "INNER=2", "assigns no INNER at top level; it assigns N, M, "
		  "NAME, SHAPE, a, H, W, U, V, P, TWICE" },
		{ "LOCAL=2", "assigns no LOCAL" },
		{ "x=2", "assigns no x" },
		{ "b=2", "assigns no b" },
		{ "a=2", "together with other names" },
		{ "V=2", "together with other names" },
		{ "TWICE=3", "2 times" },
		{ "SHAPE=3", "several lines" },
		{ "LONG=3", "several lines" },
		{ "N", "NAME=VALUE" },
		{ "=4", "NAME=VALUE" },
		{ "4=4", "NAME=VALUE" },
		{ "a.b=4", "NAME=VALUE" },
		{ "N=", "plain expression" },
		{ "N=1\nimport os", "plain expression" },
		{ "N=1; x=2", "plain expression" },
		{ "N=1 # no", "plain expression" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_err err = { 0 };
		char *out = NULL;

		assert_int_equal(kf_rewrite(source, rows[i].set, "--set", &out,
					    &err), KF_E_INPUT);
		assert_null(out);
		if (!strstr(err.text, rows[i].words))
			print_message("# %s: %s\n", rows[i].set, err.text);
		assert_non_null(strstr(err.text, rows[i].words));
	}
}

/* Nothing here is Python; all of it must end. */
static void test_broken_text_is_scanned_to_its_end(void **state)
{
	static const char *const rows[] = {
		"", "N", "N =", "'''", "\"", "(((((", ")))", "N = (", "N = '",
		"N = \"\"\"", "\\", "N = \\", "N :", "N : (", "#", "N = #",
		"\n\n\n", "N = 'a\nM = 2\n", "\xff = 3",
	};
	struct kf_err err = { 0 };
	char *out;

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		assert_int_equal(kf_rewrite(rows[i], "Z=1", "--set", &out,
					    &err), KF_E_INPUT);
		assert_null(out);
	}
	assert_int_equal(kf_rewrite("N = 'a\nM = 2\n", "M=3", "--set", &out,
				    &err), KF_OK);
	assert_string_equal(out, "N = 'a\nM = 3\n");
	free(out);
}

static enum kf_code read_text(const void *text, size_t len, const char *name,
			      struct kf_problem *out, struct kf_err *err)
{
	char dir[] = "/tmp/kforge-test-XXXXXX";
	struct kf_problem_spec spec = { 0 };
	enum kf_code code;
	char *path;

	assert_non_null(mkdtemp(dir));
	path = kf_path_join(dir, name);
	assert_int_equal(kf_file_write(path, text, len, NULL), KF_OK);
	spec.path = path;
	code = kf_problem_read(&spec, out, err);
	assert_int_equal(kf_remove_tree(dir, NULL), KF_OK);
	free(path);
	return code;
}

static void test_names_are_fit_for_paths(void **state)
{
	static const struct { const char *file, *name; } rows[] = {
		{ "softmax.py", "softmax" },
		{ "19_ReLU.py", "19_ReLU" },
		{ "a b$c.py", "a_b_c" },
		{ "noext", "noext" },
		{ ".py", "problem" },
		{ "v1.5.py", "v1.5" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_problem problem;

		assert_int_equal(read_text("x = 1\n", 6, rows[i].file,
					   &problem, NULL), KF_OK);
		assert_string_equal(problem.name, rows[i].name);
		assert_string_equal(problem.source, "x = 1\n");
		assert_int_equal(strlen(problem.hash), 64);
		kf_problem_release(&problem);
	}
}

static void test_what_is_no_text_is_refused(void **state)
{
	static char large[(1u << 20) + 1];
	struct kf_problem problem;
	struct kf_err err = { 0 };

	(void)state;
	assert_int_equal(read_text("\xff\xfe", 2, "a.py", &problem, &err),
			 KF_E_INPUT);
	assert_non_null(strstr(err.text, "UTF-8"));
	assert_int_equal(read_text("a\0b", 3, "a.py", &problem, &err),
			 KF_E_INPUT);
	memset(large, '#', sizeof(large));
	assert_int_equal(read_text(large, sizeof(large), "a.py", &problem,
				   &err), KF_E_INPUT);
	assert_non_null(strstr(err.text, "larger than"));
	assert_null(problem.source);
	kf_problem_release(&problem);
}

static void test_missing_file_and_folder_are_named(void **state)
{
	struct kf_problem_spec spec = { .path = "/nonexistent/p.py" };
	struct kf_problem problem;
	struct kf_err err = { 0 };

	(void)state;
	assert_int_equal(kf_problem_read(&spec, &problem, &err), KF_E_INPUT);
	assert_non_null(strstr(err.text, "/nonexistent/p.py: No such file"));
	spec.path = "/tmp";
	assert_int_equal(kf_problem_read(&spec, &problem, &err), KF_E_INPUT);
	assert_non_null(strstr(err.text, "is a folder"));
}

static void test_sets_apply_in_order_and_change_the_hash(void **state)
{
	const char *const set[] = { "ROWS=3", "COLUMNS=5" };
	struct kf_problem_spec spec = { .path = "problems/level1/softmax.py" };
	struct kf_problem plain, changed;

	(void)state;
	assert_int_equal(kf_problem_read(&spec, &plain, NULL), KF_OK);
	spec.set = set;
	spec.set_count = KF_COUNT(set);
	assert_int_equal(kf_problem_read(&spec, &changed, NULL), KF_OK);
	assert_non_null(strstr(changed.source, "\nROWS = 3\nCOLUMNS = 5\n"));
	assert_string_not_equal(plain.hash, changed.hash);
	kf_problem_release(&plain);
	kf_problem_release(&changed);
}

static const char sizes[] =
	"\"\"\"\n# kforge: size fake N=1\n\"\"\"\n"
	"N = 16\n"
	"M = 2\n"
	"TWICE = 1\n"
	"TWICE = 2\n"
	"# kforge: size small N=4   M=N+1\r\n"
	"  # kforge: size inner N=5\n"
	"# kforge: size many N=1\n"
	"# kforge: size many N=2\n"
	"# kforge: size unknown N=4 K=2\n"
	"# kforge: size half N\n"
	"# kforge: size twice TWICE=1\n"
	"# kforge: size import M=__import__('os');x\n"
	"# kforge: size empty\n"
	"# kforge: size last M=9";

static void test_a_size_is_the_assignments_of_its_line(void **state)
{
	static const struct { const char *size, *n, *m; } rows[] = {
		{ "small", "N = 4\n", "M = N+1\n" },
		{ "last", "N = 16\n", "M = 9\n" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		char *out = kf_strdup(sizes);

		assert_int_equal(kf_preset_apply(&out, rows[i].size, NULL),
				 KF_OK);
		assert_non_null(strstr(out, rows[i].n));
		assert_non_null(strstr(out, rows[i].m));
		free(out);
	}
}

static void test_a_size_that_cannot_be_had_says_why(void **state)
{
	static const struct { const char *size, *words; } rows[] = {
		{ "fake", "no preset fake; it has small, many, unknown, "
		  "half, twice, import, empty, last" },
		{ "inner", "no preset inner" },
		{ "smal", "no preset smal" },
		{ "", "no preset " },
		{ "many", "2 presets many" },
		{ "unknown", "preset unknown: the file assigns no K" },
		{ "half", "preset half N: NAME=VALUE" },
		{ "twice", "preset twice: TWICE is assigned 2 times" },
		{ "import", "preset import M=__import__('os');x: the value" },
		{ "empty", "preset empty: its line assigns nothing" },
	};
	char *none = kf_strdup("N = 1\n");
	struct kf_err err;

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		char *out = kf_strdup(sizes);

		err = (struct kf_err) { 0 };
		assert_int_equal(kf_preset_apply(&out, rows[i].size, &err),
				 KF_E_INPUT);
		if (!strstr(err.text, rows[i].words))
			fail_msg("%s: %s", rows[i].size, err.text);
		free(out);
	}
	assert_int_equal(kf_preset_apply(&none, "test", &err), KF_E_INPUT);
	assert_non_null(strstr(err.text, "has no presets"));
	free(none);
}

static void test_set_wins_over_size(void **state)
{
	const char *const set[] = { "ROWS=3" };
	struct kf_problem_spec spec = {
		.path = "problems/level1/softmax.py", .size = "test",
		.set = set, .set_count = 1,
	};
	struct kf_problem problem;

	(void)state;
	assert_int_equal(kf_problem_read(&spec, &problem, NULL), KF_OK);
	assert_non_null(strstr(problem.source, "\nROWS = 3\nCOLUMNS = 100\n"));
	kf_problem_release(&problem);
}

static void test_a_type_is_a_line_of_the_text(void **state)
{
	static const struct { const char *before, *after; } rows[] = {
		{ "N = 1\n", "N = 1\n# kforge: dtype float16\n" },
		{ "N = 1", "N = 1\n# kforge: dtype float16\n" },
		{ "# kforge: dtype float64 \nN = 1\n",
		  "# kforge: dtype float16 \nN = 1\n" },
		{ "\"\"\"\n# kforge: dtype x\n\"\"\"\n",
		  "\"\"\"\n# kforge: dtype x\n\"\"\"\n"
		  "# kforge: dtype float16\n" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		char *text = kf_strdup(rows[i].before);
		enum kf_dtype dtype;

		assert_int_equal(kf_cast_line_set(&text, KF_DTYPE_NONE, NULL),
				 KF_OK);
		assert_string_equal(text, rows[i].before);
		assert_int_equal(kf_cast_line_set(&text, KF_F16, NULL), KF_OK);
		assert_string_equal(text, rows[i].after);
		assert_int_equal(kf_cast_line_get(text, &dtype, NULL), KF_OK);
		assert_int_equal(dtype, KF_F16);
		free(text);
	}
}

static void test_a_type_that_no_problem_has_is_refused(void **state)
{
	static const struct { const char *text, *words; } rows[] = {
		{ "# kforge: dtype int32\n", "dtype int32`: float64, float32" },
		{ "# kforge: dtype \n", "dtype `: float64" },
		{ "# kforge: dtype float16\n# kforge: dtype float16\n",
		  "two lines" },
	};
	enum kf_dtype dtype;

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_err err = { 0 };

		assert_int_equal(kf_cast_line_get(rows[i].text, &dtype, &err),
				 KF_E_INPUT);
		if (!strstr(err.text, rows[i].words))
			fail_msg("%s: %s", rows[i].text, err.text);
	}
}

static void test_a_type_changes_the_hash(void **state)
{
	struct kf_problem_spec spec = { .path = "problems/level1/softmax.py" };
	struct kf_problem plain, cast;

	(void)state;
	assert_int_equal(kf_problem_read(&spec, &plain, NULL), KF_OK);
	spec.dtype = KF_BF16;
	assert_int_equal(kf_problem_read(&spec, &cast, NULL), KF_OK);
	assert_string_not_equal(plain.hash, cast.hash);
	assert_int_equal(kf_problem_cast(&plain), KF_DTYPE_NONE);
	assert_int_equal(kf_problem_cast(&cast), KF_BF16);
	kf_problem_release(&plain);
	kf_problem_release(&cast);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set_changes_one_assignment_only),
		cmocka_unit_test(test_set_that_cannot_be_done_says_why),
		cmocka_unit_test(test_broken_text_is_scanned_to_its_end),
		cmocka_unit_test(test_names_are_fit_for_paths),
		cmocka_unit_test(test_what_is_no_text_is_refused),
		cmocka_unit_test(test_missing_file_and_folder_are_named),
		cmocka_unit_test(test_sets_apply_in_order_and_change_the_hash),
		cmocka_unit_test(test_a_size_is_the_assignments_of_its_line),
		cmocka_unit_test(test_a_size_that_cannot_be_had_says_why),
		cmocka_unit_test(test_set_wins_over_size),
		cmocka_unit_test(test_a_type_is_a_line_of_the_text),
		cmocka_unit_test(test_a_type_that_no_problem_has_is_refused),
		cmocka_unit_test(test_a_type_changes_the_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
