/*
 * Times and intervals, on simulated clocks: seeded noise, so that every run of
 * these tests sees the same numbers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include "clock.h"

#define TRIALS 2000

static bool near(double a, double b, double tolerance)
{
	return fabs(a - b) <= tolerance;
}

static void test_medians(void **state)
{
	static const uint64_t odd[] = { 9, 1, 5 }, even[] = { 4, 1, 2, 9 };
	static const uint64_t large[] = { UINT64_MAX, UINT64_MAX - 2 };
	static const double real[] = { 3, 1, 2, 10 };

	(void)state;
	assert_int_equal(kf_stats_median_u64(NULL, 0), 0);
	assert_int_equal(kf_stats_median_u64(odd, 3), 5);
	assert_int_equal(kf_stats_median_u64(even, 4), 3);
	assert_true(kf_stats_median_u64(large, 2) == UINT64_MAX - 1);
	assert_true(near(kf_stats_median(real, 4), 2.5, 0));
	assert_true(isnan(kf_stats_median(NULL, 0)));
}

static void test_t_quantiles(void **state)
{
	static const struct { unsigned df; double t; } rows[] = {
		{ 1, 12.7062 }, { 4, 2.7764 }, { 19, 2.0930 }, { 30, 2.0423 },
		{ 31, 2.0395 }, { 60, 2.0003 }, { 120, 1.9799 },
		{ 100000, 1.95997 },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++)
		assert_true(near(kf_stats_t95(rows[i].df), rows[i].t, 1e-4));
	assert_true(isinf(kf_stats_t95(0)));
}

static void test_ratio_of_known_blocks(void **state)
{
	static const double candidate[] = { 100, 100, 100 };
	static const double baseline[] = { 200, 210, 190 };
	struct kf_ratio r;

	(void)state;
	kf_stats_ratio(candidate, baseline, 1, &r);
	assert_true(near(r.ratio, 2, 1e-12) && r.block_count == 1);
	assert_true(isnan(r.low) && isnan(r.high) && isnan(r.width));
	kf_stats_ratio(candidate, baseline, 0, &r);
	assert_true(isnan(r.ratio) && r.block_count == 0);
	kf_stats_ratio(candidate, baseline, 3, &r);
	assert_true(near(r.ratio, 1.9983, 1e-3));
	assert_true(r.low < 1.9 && r.high > 2.1);
	assert_true(near(r.width, (r.high - r.low) / r.ratio, 1e-12));
	kf_stats_ratio(baseline, baseline, 3, &r);
	assert_true(r.ratio == 1 && r.width == 0);
}

static void test_stopping_rule(void **state)
{
	static const struct {
		size_t blocks;
		double width;
		bool done;
	} rows[] = {
		{ 1, (double)NAN, false }, { 4, 0.001, false },
		{ 5, 0.019, true }, { 5, 0.021, false }, { 19, 0.5, false },
		{ 20, 0.5, true },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_ratio r = { .width = rows[i].width,
				      .block_count = rows[i].blocks };

		assert_int_equal(kf_stats_done(&kf_stop_default, &r),
				 rows[i].done);
	}
}

/* --- simulated clocks ---------------------------------------------------- */

static void test_interval_covers_the_true_ratio(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * KF_COUNT(clock_cases); i++) {
		const struct clock_case *c = &clock_cases[i / 2];
		bool stopping = i % 2;
		struct clock_found f;

		clock_trials(&c->machine, TRIALS, 1.7, stopping, i, &f);
		print_message("# 95 %% interval covers %.1f %%, bias %+.3f %%: "
			      "%s, %s\n", 100 * f.covered, 100 * f.bias,
			      c->name, stopping ? "stopping rule" :
			      "20 blocks");
		assert_true(f.covered >= (stopping ? 0.91 : 0.93));
		assert_true(fabs(f.bias) <= 4 * f.bias_error);
	}
}

static void test_drift_does_not_move_the_ratio(void **state)
{
	const struct clock machine = { .noise = 0.01, .drift = 0.15 / 400 };
	struct clock_found f;

	(void)state;
	/* 15 % slower by the end: seen apart, the two would differ by 7 %. */
	clock_trials(&machine, TRIALS, 1, false, 5, &f);
	assert_true(fabs(f.bias) < 0.0002);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_medians),
		cmocka_unit_test(test_t_quantiles),
		cmocka_unit_test(test_ratio_of_known_blocks),
		cmocka_unit_test(test_stopping_rule),
		cmocka_unit_test(test_interval_covers_the_true_ratio),
		cmocka_unit_test(test_drift_does_not_move_the_ratio),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
