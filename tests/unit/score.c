/* link: src/cli/score.c libkforge.a */
/* Scores over several problems. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/score.h"

static void test_fast_1_counts_all_problems(void **state)
{
	struct kf_score score = { 0 };

	(void)state;
	kf_score_add(&score, true, 4);
	kf_score_add(&score, true, 1);		/* as fast is not faster */
	kf_score_add(&score, true, 0.25);
	kf_score_add(&score, false, 9);		/* wrong, however fast */
	assert_int_equal(score.problem_count, 4);
	assert_int_equal(score.correct_count, 3);
	assert_true(fabs(kf_score_geomean(&score) - 1) < 1e-12);
	assert_true(kf_score_fast_1(&score) == 0.25);
}

static void test_what_is_unknown_is_left_out_of_the_mean(void **state)
{
	struct kf_score score = { 0 };
	struct kf_buf text = { .max = 1024 };

	(void)state;
	assert_true(isnan(kf_score_geomean(&score)));
	assert_true(isnan(kf_score_fast_1(&score)));
	kf_score_add(&score, true, (double)NAN);
	kf_score_say(&score, "healthy", &text);
	assert_string_equal(kf_buf_str(&text),
			    "healthy: 1 problem, 1 correct\n");
	kf_buf_release(&text);
	kf_score_add(&score, true, 2);
	assert_true(fabs(kf_score_geomean(&score) - 2) < 1e-12);
	assert_true(kf_score_fast_1(&score) == 0.5);
	kf_score_say(&score, "all as published", &text);
	assert_string_equal(kf_buf_str(&text), "all as published: 2 problems, "
			    "2 correct, geometric mean 2.00x, fast_1 0.50\n");
	kf_buf_release(&text);
}

static void test_json_has_null_for_what_is_unknown(void **state)
{
	struct kf_score score = { 0 };
	json_t *json = kf_score_to_json(&score);

	(void)state;
	assert_true(json_is_null(json_object_get(json, "geomean")));
	assert_true(json_is_null(json_object_get(json, "fast_1")));
	assert_int_equal(kf_json_int(json, "problems", 7), 0);
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fast_1_counts_all_problems),
		cmocka_unit_test(test_what_is_unknown_is_left_out_of_the_mean),
		cmocka_unit_test(test_json_has_null_for_what_is_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
