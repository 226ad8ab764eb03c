/* link: src/cli/bootstrap.c libkforge.a */
/* Means over problems and their intervals. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/bootstrap.h"

static void test_no_value_and_one_have_no_interval(void **state)
{
	const double one[] = { (double)NAN, 3 };
	struct kf_interval i = kf_bootstrap(NULL, 0);

	(void)state;
	assert_true(isnan(i.mean) && isnan(i.low) && isnan(i.high));
	assert_int_equal(i.count, 0);
	i = kf_bootstrap(one, 2);
	assert_float_equal(i.mean, 3, 1e-12);
	assert_true(isnan(i.low) && isnan(i.high));
	assert_int_equal(i.count, 1);
}

static void test_equal_values_have_no_width(void **state)
{
	const double same[] = { 2, 2, (double)NAN, 2 };
	struct kf_interval i = kf_bootstrap(same, 4);

	(void)state;
	assert_int_equal(i.count, 3);
	assert_float_equal(i.low, 2, 1e-12);
	assert_float_equal(i.high, 2, 1e-12);
}

static void test_few_values_have_a_wide_interval(void **state)
{
	const double value[] = { 1, 2, 3, 4, 5, 6 };
	struct kf_interval two = kf_bootstrap(value, 2);
	struct kf_interval six = kf_bootstrap(value, 6);

	(void)state;
	assert_true(two.low <= 1 && two.high >= 2);
	/* Student's: 3.5 +- 2.571 * 1.871 / sqrt(6) */
	assert_true(fabs(six.low - (3.5 - 1.964)) < 0.25);
	assert_true(fabs(six.high - (3.5 + 1.964)) < 0.25);
}

/* Of 100 values with a standard deviation of s the mean has s / 10, and 95 %
 * lie within 1.96 of these. */
static void test_the_width_is_that_of_a_mean(void **state)
{
	struct kf_rng rng = { 7 };
	double value[100], sum = 0, square = 0, s;
	struct kf_interval i;

	(void)state;
	for (size_t k = 0; k < KF_COUNT(value); k++) {
		value[k] = kf_rng_double(&rng);
		sum += value[k];
		square += value[k] * value[k];
	}
	i = kf_bootstrap(value, KF_COUNT(value));
	s = sqrt(square / 100 - sum / 100 * (sum / 100));
	assert_true(fabs(i.mean - sum / 100) < 1e-12);
	assert_true(fabs(i.mean - i.low - 0.196 * s) < 0.02 * s);
	assert_true(fabs(i.high - i.mean - 0.196 * s) < 0.02 * s);
}

static double normal(struct kf_rng *rng)
{
	double sum = -6;

	for (unsigned i = 0; i < 12; i++)
		sum += kf_rng_double(rng);
	return sum;
}

static void test_intervals_hold_the_mean_as_often_as_they_say(void **state)
{
	struct kf_rng rng = { 3 };
	unsigned held = 0;

	(void)state;
	for (unsigned i = 0; i < 500; i++) {
		double value[8];
		struct kf_interval interval;

		for (size_t k = 0; k < KF_COUNT(value); k++)
			value[k] = normal(&rng);
		interval = kf_bootstrap(value, KF_COUNT(value));
		held += interval.low <= 0 && interval.high >= 0;
	}
	assert_in_range(held, 460, 490);	/* 92 % to 98 % */
}

static void test_the_same_values_give_the_same_interval(void **state)
{
	const double value[] = { 1, 5, 2, 8, 3 };
	struct kf_interval a = kf_bootstrap(value, 5);
	struct kf_interval b = kf_bootstrap(value, 5);

	(void)state;
	assert_memory_equal(&a, &b, sizeof(a));
	assert_true(a.low < a.mean && a.mean < a.high);
}

static void test_logarithms_give_the_geometric_mean(void **state)
{
	const double value[] = { log(2), log(8) };
	struct kf_interval i = kf_bootstrap_exp(value, 2);

	(void)state;
	assert_float_equal(i.mean, 4, 1e-12);
	assert_float_equal(i.low, 2, 1e-12);
	assert_float_equal(i.high, 8, 1e-12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_value_and_one_have_no_interval),
		cmocka_unit_test(test_equal_values_have_no_width),
		cmocka_unit_test(test_few_values_have_a_wide_interval),
		cmocka_unit_test(test_the_width_is_that_of_a_mean),
		cmocka_unit_test(
			test_intervals_hold_the_mean_as_often_as_they_say),
		cmocka_unit_test(test_the_same_values_give_the_same_interval),
		cmocka_unit_test(test_logarithms_give_the_geometric_mean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
