/* precision.c - operands of lower precision are told from rounding errors. */
#include "evaluate/precision.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define COUNT 8192

struct world { float error[COUNT], got[COUNT]; double exact[COUNT]; };

/* Errors of lower precision and, apart from them, of float32's own rounding,
 * `own` times as large; `part` of the former is in what a program gives. */
static void fill(struct world *w, double part, double own)
{
	struct kf_rng rng = { 7 };

	for (int i = 0; i < COUNT; i++) {
		double e = kf_rng_double(&rng) - 0.5;

		w->exact[i] = 0;
		w->error[i] = (float)e;
		w->got[i] = (float)(part * e +
				    own * (kf_rng_double(&rng) - 0.5));
	}
}

static struct kf_precision_found find(const struct world *w, int64_t count)
{
	return kf_precision_find(w->error, w->exact, w->got, count);
}

static void test_rounding_errors_are_no_lower_precision(void **state)
{
	static const double own[] = { 0, 0.01, 0.5, 1, 2 };
	struct world *w = kf_alloc(sizeof(*w));

	(void)state;
	for (size_t i = 0; i < KF_COUNT(own); i++) {
		fill(w, 0, own[i]);
		assert_false(find(w, COUNT).used);
	}
	fill(w, 0.1, 0.1);	/* a little of it may be chance */
	assert_false(find(w, COUNT).used);
	free(w);
}

static void test_it_is_found_by_its_direction(void **state)
{
	struct world *w = kf_alloc(sizeof(*w));
	struct kf_precision_found found;

	(void)state;
	fill(w, 1, 0.5);
	found = find(w, COUNT);
	assert_true(found.used);
	assert_true(fabs(found.coefficient - 1) < 0.05);
	fill(w, 0.5, 0);	/* one operand of two */
	assert_true(find(w, COUNT).used);
	free(w);
}

static void test_it_is_found_in_a_part_of_the_output(void **state)
{
	struct world *w = kf_alloc(sizeof(*w));

	(void)state;
	fill(w, 0, 0);
	for (int i = 1024; i < 2048; i++)
		w->got[i] = w->error[i];
	assert_true(find(w, COUNT).used);
	free(w);
}

static void test_what_says_nothing_is_not_used(void **state)
{
	struct world *w = kf_alloc(sizeof(*w));

	(void)state;
	fill(w, 1, 0);
	assert_false(find(w, 0).used);
	assert_false(find(w, 8).used);	/* too few */
	memset(w->error, 0, sizeof(w->error));
	assert_false(find(w, COUNT).used);
	fill(w, 0, 0);
	for (int i = 0; i < COUNT; i += 2)
		w->got[i] = i % 4 ? NAN : INFINITY;
	assert_false(find(w, COUNT).used);
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rounding_errors_are_no_lower_precision),
		cmocka_unit_test(test_it_is_found_by_its_direction),
		cmocka_unit_test(test_it_is_found_in_a_part_of_the_output),
		cmocka_unit_test(test_what_says_nothing_is_not_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
