/* link: src/cli/figures.c libkforge.a */
/* What the attempts at a set of problems come to. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/figures.h"

static struct kf_figure_attempt correct(double ratio)
{
	return (struct kf_figure_attempt) {
		.mark = 'c', .correct = true, .kernelbench = true,
		.ratio = { ratio, (double)NAN, ratio },
	};
}

static const struct kf_figure_attempt wrong = {
	.mark = 'm', .kernelbench = true,
	.ratio = { (double)NAN, (double)NAN, (double)NAN },
};

static void test_ratios_follow_what_ran_in_turn(void **state)
{
	double ratio[KF_AGAINST_COUNT];

	(void)state;
	kf_figure_ratios(3, "eager", 100, 200, ratio);
	assert_float_equal(ratio[KF_AGAINST_EAGER], 3, 1e-12);
	assert_float_equal(ratio[KF_AGAINST_COMPILE], 6, 1e-12);
	assert_float_equal(ratio[KF_AGAINST_FASTER], 3, 1e-12);
	kf_figure_ratios(3, "compile", 100, 50, ratio);
	assert_float_equal(ratio[KF_AGAINST_EAGER], 6, 1e-12);
	assert_float_equal(ratio[KF_AGAINST_COMPILE], 3, 1e-12);
	assert_float_equal(ratio[KF_AGAINST_FASTER], 3, 1e-12);
	kf_figure_ratios(3, "reference", (double)NAN, (double)NAN, ratio);
	assert_float_equal(ratio[KF_AGAINST_EAGER], 3, 1e-12);
	assert_true(isnan(ratio[KF_AGAINST_COMPILE]));
}

static void test_best_is_the_fastest_so_far(void **state)
{
	struct kf_figure_attempt a[] = { wrong, correct((double)NAN),
					 correct(0.5), correct(2) };
	struct kf_figure_problem p = { a, 4 };

	(void)state;
	assert_null(kf_figure_best(&p, 1));
	assert_ptr_equal(kf_figure_best(&p, 2), &a[1]);
	assert_ptr_equal(kf_figure_best(&p, 3), &a[2]);
	assert_ptr_equal(kf_figure_best(&p, 9), &a[3]);
}

/* Compiled baselines fail for some problems. */
static void test_fast_p_counts_where_it_was_measured(void **state)
{
	struct kf_figure_attempt a[] = { correct(3), correct(4), wrong };
	struct kf_figure_problem p[3];
	struct kf_figures f;

	(void)state;
	a[0].ratio[KF_AGAINST_COMPILE] = 2;
	for (size_t i = 0; i < 3; i++)
		p[i] = (struct kf_figure_problem) { &a[i], 1 };
	kf_figures_make(p, 3, 1, &f);
	assert_int_equal(f.against_count[KF_AGAINST_EAGER], 3);
	assert_int_equal(f.against_count[KF_AGAINST_COMPILE], 2);
	assert_float_equal(f.fast[KF_AGAINST_EAGER][0], 2. / 3, 1e-12);
	assert_float_equal(f.fast[KF_AGAINST_COMPILE][0], 0.5, 1e-12);
	assert_float_equal(f.geomean[KF_AGAINST_COMPILE], 2, 1e-12);
}

static void test_of_no_correct_program_fast_p_is_0(void **state)
{
	struct kf_figure_attempt a[] = { wrong, wrong, correct((double)NAN) };
	struct kf_figure_problem p[3];
	struct kf_figures f;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		p[i] = (struct kf_figure_problem) { &a[i], 1 };
	kf_figures_make(p, 2, 1, &f);
	for (int g = 0; g < KF_AGAINST_COUNT; g++)
		for (size_t k = 0; k < 3; k++)
			assert_true(f.fast[g][k] == 0);	/* not NaN */
	assert_true(isnan(f.geomean[KF_AGAINST_EAGER]));
	/* One that is correct, and was not timed: who knows? */
	kf_figures_make(p, 3, 1, &f);
	assert_true(isnan(f.fast[KF_AGAINST_EAGER][0]));
	kf_figures_make(p, 0, 1, &f);
	assert_true(isnan(f.fast[KF_AGAINST_EAGER][0]));
}

static void test_fast_p_counts_all_problems(void **state)
{
	struct kf_figure_attempt a[] = { correct(1), wrong, correct(1.6),
					 correct(8), correct(2) };
	struct kf_figure_problem p[5];
	struct kf_figures f;

	(void)state;
	for (size_t i = 0; i < 5; i++)
		p[i] = (struct kf_figure_problem) { &a[i], 1 };
	kf_figures_make(p, 5, 1, &f);
	assert_int_equal(f.problem_count, 5);
	assert_int_equal(f.correct_count, 4);
	assert_int_equal(f.kernelbench_count, 5);
	assert_float_equal(f.fast[KF_AGAINST_EAGER][0], 0.6, 1e-12);
	assert_float_equal(f.fast[KF_AGAINST_EAGER][1], 0.6, 1e-12);
	assert_float_equal(f.fast[KF_AGAINST_EAGER][2], 0.2, 1e-12);
	assert_true(isnan(f.fast[KF_AGAINST_COMPILE][0]));
	assert_float_equal(f.geomean[KF_AGAINST_FASTER],
			   pow(1 * 1.6 * 8 * 2, 0.25), 1e-12);
	assert_float_equal(f.geomean_less_two[KF_AGAINST_FASTER],
			   sqrt(1.6), 1e-12);
	assert_true(isnan(f.geomean[KF_AGAINST_COMPILE]));
}

static void test_two_problems_leave_no_rest(void **state)
{
	struct kf_figure_attempt a[] = { correct(1), correct(3) };
	struct kf_figure_problem p[] = { { &a[0], 1 }, { &a[1], 1 } };
	struct kf_figures f;

	(void)state;
	kf_figures_make(p, 2, 1, &f);
	assert_true(isnan(f.geomean_less_two[KF_AGAINST_FASTER]));
	kf_figures_make(p, 0, 1, &f);
	assert_true(isnan(f.geomean[KF_AGAINST_FASTER]));
}

static void test_marks_of_the_states(void **state)
{
	(void)state;
	assert_int_equal(kf_figure_mark("correct"), 'c');
	assert_int_equal(kf_figure_mark("compilation_failure"), 'b');
	assert_int_equal(kf_figure_mark(""), '-');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ratios_follow_what_ran_in_turn),
		cmocka_unit_test(test_best_is_the_fastest_so_far),
		cmocka_unit_test(test_of_no_correct_program_fast_p_is_0),
		cmocka_unit_test(test_fast_p_counts_all_problems),
		cmocka_unit_test(test_fast_p_counts_where_it_was_measured),
		cmocka_unit_test(test_two_problems_leave_no_rest),
		cmocka_unit_test(test_marks_of_the_states),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
