/*
 * Times and intervals, on simulated clocks: seeded noise, so that every run of
 * these tests sees the same numbers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "evaluate/stats.h"

#define CALLS 10
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
	assert_true(isnan(r.ratio) && r.block_count == 1);
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

static double normal(struct kf_rng *rng)
{
	double u = 1 - kf_rng_double(rng), v = kf_rng_double(rng);

	return sqrt(-2 * log(u)) * cos(2 * 3.14159265358979 * v);
}

/* One machine whose speed wanders; both programs run on it, block by block. */
struct machine {
	struct kf_rng rng;
	double correlation, noise, drift, spike;	/* per call */
	double level, slope;
};

static double call_time(struct machine *m, double base)
{
	double fresh = sqrt(1 - m->correlation * m->correlation);
	double time;

	m->level = m->correlation * m->level + fresh * normal(&m->rng);
	m->slope += m->drift;
	time = base * exp(m->noise * m->level + m->slope);
	if (kf_rng_double(&m->rng) < m->spike)
		time *= 3;
	return time;
}

static double block_median(struct machine *m, double base)
{
	double time[CALLS];

	for (int i = 0; i < CALLS; i++)
		time[i] = call_time(m, base);
	return kf_stats_median(time, CALLS);
}

/* True if the interval holds the true ratio. */
static bool measure(struct machine *m, double true_ratio, bool stopping,
		    struct kf_ratio *r)
{
	double candidate[32], baseline[32];
	size_t n = 0;

	do {
		candidate[n] = block_median(m, 1e6);
		baseline[n] = block_median(m, 1e6 * true_ratio);
		n++;
		kf_stats_ratio(candidate, baseline, n, r);
	} while (stopping ? !kf_stats_done(&kf_stop_default, r) : n < 20);
	return r->low <= true_ratio && true_ratio <= r->high;
}

static void test_interval_covers_the_true_ratio(void **state)
{
	static const struct {
		const char *what;
		struct machine machine;
		bool stopping;
		double least;
	} rows[] = {
		{ "independent noise", { .noise = 0.05 }, false, 0.94 },
		{ "autocorrelation 0.8", { .noise = 0.05, .correlation = 0.8 }, false, 0.87 },
		{ "autocorrelation 0.8, stopping rule", { .noise = 0.05, .correlation = 0.8 }, true, 0.87 },
		{ "a clock that slows by 5 % in all", { .noise = 0.05, .drift = 0.05 / 400 }, false, 0.87 },
		{ "one call in twenty interrupted", { .noise = 0.05, .spike = 0.05 }, false, 0.94 },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		double covered = 0;

		for (uint64_t t = 0; t < TRIALS; t++) {
			struct machine m = rows[i].machine;
			struct kf_ratio r;

			m.rng.state = t * 977 + i;
			covered += measure(&m, 1.7, rows[i].stopping, &r);
		}
		covered /= TRIALS;
		print_message("# 95 %% interval covers %.1f %%: %s\n",
			      100 * covered, rows[i].what);
		assert_true(covered >= rows[i].least);
	}
}

static void test_drift_does_not_move_the_ratio(void **state)
{
	struct machine m = { .rng = { 5 }, .noise = 0.01,
			     .drift = 0.15 / 400 };
	struct kf_ratio r;

	(void)state;
	/* 15 % slower by the end: seen apart, the two would differ by 7 %. */
	measure(&m, 1, false, &r);
	assert_true(near(r.ratio, 1, 0.01));
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
