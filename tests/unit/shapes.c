/* shapes.c - several verdicts become one, and shapes become problems. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "evaluate/shapes.h"
#include "executor/shapes.h"

static struct kf_verdict correct(double time_ns, double baseline_ns,
				 double spread)
{
	double ratio = baseline_ns / time_ns;

	return (struct kf_verdict) {
		.state = KF_CORRECT, .reached = KF_REACH_TIME,
		.text.max = 1000, .time_ns = time_ns,
		.baseline_ns = baseline_ns, .conclusive = true,
		.kernelbench_good = true, .call_count = 10,
		.speedup = { ratio, ratio / spread, ratio * spread, 0.1, 5 },
	};
}

static void test_the_headline_is_geometric(void **state)
{
	struct kf_verdict one = correct(100, 400, 1.1);
	struct kf_verdict all = { 0 };

	(void)state;
	kf_shapes_take(&all, "a", &one);
	one = correct(100, 100, 1.1);
	one.conclusive = false;
	kf_shapes_take(&all, "b", &one);
	kf_shapes_end(&all, 2);
	assert_int_equal(all.state, KF_CORRECT);
	assert_true(fabs(all.speedup.ratio - 2) < 1e-12);
	assert_true(fabs(all.time_ns - 100) < 1e-9);
	assert_true(fabs(all.baseline_ns - 200) < 1e-9);
	/* Two equal widths in logarithms: narrower by the root of two. */
	assert_true(fabs(log(all.speedup.high / 2) -
			 log(1.1) / sqrt(2)) < 1e-12);
	assert_true(fabs(log(2 / all.speedup.low) -
			 log(1.1) / sqrt(2)) < 1e-12);
	assert_int_equal(all.speedup.block_count, 10);
	assert_int_equal(all.call_count, 20);
	assert_false(all.conclusive);
	assert_int_equal(kf_shapes_worst(&all), 1);
	assert_non_null(strstr(kf_buf_str(&all.text),
			       "the worst shape is b: 1.000"));
	kf_verdict_release(&all);
}

static void test_the_first_failure_is_the_verdict(void **state)
{
	struct kf_verdict one = correct(100, 400, 1.1), all = { 0 };
	json_t *json;

	(void)state;
	kf_shapes_take(&all, "a", &one);
	one = correct(NAN, NAN, NAN);
	one.state = KF_MISMATCH;
	one.kernelbench_good = false;
	snprintf(one.reason, sizeof(one.reason), "values");
	kf_buf_puts(&one.text, "wrong\n");
	kf_shapes_take(&all, "b", &one);
	kf_shapes_end(&all, 3);
	assert_int_equal(all.state, KF_MISMATCH);
	assert_string_equal(all.reason, "values");
	assert_string_equal(kf_buf_str(&all.text),
			    "On shape b (2 of 3; correct on: a):\nwrong\n");
	assert_true(isnan(all.speedup.ratio));
	assert_false(all.kernelbench_good);
	json = kf_shapes_to_json(&all);
	assert_int_equal(json_array_size(json), 2);
	assert_string_equal(kf_json_str(json_array_get(json, 1), "state", ""),
			    "mismatch");
	assert_true(json_is_null(json_object_get(json_array_get(json, 1),
						 "time_ns")));
	json_decref(json);
	kf_verdict_release(&all);
}

static void test_without_a_baseline_there_is_no_worst(void **state)
{
	struct kf_verdict one = correct(100, NAN, 1.1), all = { 0 };

	(void)state;
	kf_shapes_take(&all, "a", &one);
	kf_shapes_end(&all, 1);
	assert_int_equal(kf_shapes_worst(&all), 1);
	assert_true(fabs(all.time_ns - 100) < 1e-9);
	assert_true(isnan(all.speedup.ratio));
	assert_null(strstr(kf_buf_str(&all.text), "Geometric"));
	kf_verdict_release(&all);
}

/* The command line's --set comes first, so that a shape's wins. */
static void test_a_shape_changes_what_the_command_line_says(void **state)
{
	const char *const set[] = { "ROWS=3", "COLUMNS=5" };
	const struct kf_problem_spec base = {
		.path = "problems/level1/softmax.py",
		.set = set, .set_count = KF_COUNT(set),
	};
	json_t *shapes = json_pack("[{s:s, s:{s:i, s:f}}, {s:s, s:s}]",
				   "name", "a", "set", "COLUMNS", 7, "SCALE",
				   0.5, "name", "b", "dtype", "float64");
	struct kf_problem *problem;
	size_t count;

	(void)state;
	assert_int_equal(kf_shapes_problems(&base, shapes, &problem, &count,
					    NULL), KF_OK);
	assert_int_equal(count, 2);
	assert_string_equal(problem[0].shape, "a");
	assert_non_null(strstr(problem[0].source,
			       "\nROWS = 3\nCOLUMNS = 7\nSCALE = 0.5\n"));
	assert_string_equal(problem[1].shape, "b");
	assert_non_null(strstr(problem[1].source,
			       "\nROWS = 3\nCOLUMNS = 5\n"));
	assert_non_null(strstr(problem[1].source,
			       "\n# kforge: dtype float64\n"));
	assert_string_not_equal(problem[0].hash, problem[1].hash);
	kf_shapes_problems_free(problem, count);
	json_decref(shapes);
}

static void test_a_shape_that_cannot_be_made_is_named(void **state)
{
	const struct kf_problem_spec base = {
		.path = "problems/level1/softmax.py",
	};
	json_t *shapes = json_pack("[{s:s}, {s:s, s:s}]", "name", "a",
				   "name", "b", "size", "huge");
	struct kf_problem *problem;
	struct kf_err err = { 0 };
	size_t count;

	(void)state;
	assert_int_equal(kf_shapes_problems(&base, shapes, &problem, &count,
					    &err), KF_E_INPUT);
	assert_null(problem);
	assert_int_equal(count, 0);
	assert_non_null(strstr(err.text, "shape b: --size"));
	json_decref(shapes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_headline_is_geometric),
		cmocka_unit_test(test_the_first_failure_is_the_verdict),
		cmocka_unit_test(test_without_a_baseline_there_is_no_worst),
		cmocka_unit_test(
			test_a_shape_changes_what_the_command_line_says),
		cmocka_unit_test(test_a_shape_that_cannot_be_made_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
