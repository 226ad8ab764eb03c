/* What may be claimed of a time, with invented numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "evaluate/claim.h"

static void test_small_differences_are_not_claimed(void **state)
{
	static const struct {
		double difference_ns, width_ns;
		bool shown;
	} rows[] = {
		{ 501, 0, true }, { -501, 0, true }, { 500, 0, false },
		{ -500, 0, false }, { 0, 0, false }, { 900, 299, true },
		{ 900, 300, false }, { -900, 301, false },
		{ 900, (double)NAN, false }, { (double)NAN, 1, false },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++)
		assert_int_equal(kf_claim_shown(rows[i].difference_ns,
						rows[i].width_ns),
				 rows[i].shown);
}

struct given {
	bool flushes;
	double bytes_per_s;
	double in_theory;
	uint64_t cache_bytes;
	size_t in_bytes[2], weight_bytes, out_bytes;
	bool must_be_read[2];
	double ns;			/* 0: there is no floor */
};

static struct kf_floor floor_of(const struct given *g)
{
	struct kf_driver driver = { .flushes = g->flushes };
	struct kf_platform platform = { .driver = &driver };
	struct kf_tensor_info in[2] = {
		{ .bytes = g->in_bytes[0],
		  .must_be_read = g->must_be_read[0] },
		{ .bytes = g->in_bytes[1],
		  .must_be_read = g->must_be_read[1] },
	};
	struct kf_tensor_info weight = { .bytes = g->weight_bytes };
	struct kf_tensor_info out = { .bytes = g->out_bytes };
	struct kf_bundle bundle = {
		.in = in, .in_count = 2, .weight = &weight, .weight_count = 1,
		.out = &out, .out_count = 1,
	};

	return kf_floor_of(&(struct kf_evaluate_request) {
		.platform = &platform, .bundle = &bundle,
		.device_ceiling = { .bytes_per_s = g->bytes_per_s,
				    .bytes_per_s_in_theory = g->in_theory,
				    .cache_bytes = g->cache_bytes },
	});
}

/* At 1 GB/s a byte takes a nanosecond. */
static void test_only_what_must_move_counts(void **state)
{
	static const struct given rows[] = {
		{ true, 1e9, 0, 50, { 400, 800 }, 9000, 1050, { true, true },
		  1650 },
		{ true, 2e9, 0, 50, { 400, 800 }, 9000, 1050, { true, true },
		  825 },
		{ true, 1e9, 0, 50, { 400, 800 }, 9000, 1050, { true, false },
		  1050 },
		{ true, 1e9, 0, 50, { 400, 800 }, 9000, 40, { true, false },
		  300 },
		{ true, 1e9, 0, 50, { 400, 800 }, 9000, 40, { false, false }, 0 },
		{ true, 1e9, 3e9, 50, { 400, 800 }, 9000, 40, { true, false },
		  300 },
		{ true, 0, 3e9, 50, { 400, 800 }, 9000, 40, { true, false },
		  100 },
		/* Nobody has measured, nobody flushes, or not all of it. */
		{ true, 0, 0, 50, { 400, 800 }, 9000, 1050, { true, true }, 0 },
		{ false, 1e9, 0, 50, { 400, 800 }, 9000, 1050, { true, true },
		  0 },
		{ true, 1e9, 0, 0, { 400, 800 }, 9000, 1050, { true, true }, 0 },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_floor f = floor_of(&rows[i]);

		assert_true(rows[i].ns > 0 ? fabs(f.ns - rows[i].ns) < 1e-6 :
			    isnan(f.ns));
	}
}

static void test_a_floor_that_the_baseline_beats_is_none(void **state)
{
	static const struct {
		double floor_ns, time_ns, baseline_ns;
		bool beaten;
	} rows[] = {
		{ 5200, 3100, 9000, true }, { 5200, 5100, 0, true },
		{ 5200, 3100, (double)NAN, true },
		{ 5200, 5300, 9000, false }, { 5200, 3100, 5100, false },
		{ (double)NAN, 3100, 9000, false },
		{ 5200, (double)NAN, 9000, false },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_floor f = { .ns = rows[i].floor_ns };

		assert_int_equal(kf_floor_beaten(&f, rows[i].time_ns,
						 rows[i].baseline_ns),
				 rows[i].beaten);
	}
}

static void test_both_numbers_are_said(void **state)
{
	struct kf_floor f = { .bytes_per_s = 4.2e12, .ns = 5200 };
	struct kf_buf text = { .max = 512 };

	(void)state;
	kf_floor_say(&f, 3100, &text);
	assert_string_equal(kf_buf_str(&text), "a call took 3.1 us, and the "
			    "bytes alone that it must move take 5.2 us at the "
			    "device's measured 4.2 TB/s");
	kf_buf_clear(&text);
	f.in_theory = true;
	kf_floor_say(&f, 3100, &text);
	assert_non_null(strstr(kf_buf_str(&text), " at the device's "
			       "theoretical 4.2 TB/s"));
	kf_buf_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small_differences_are_not_claimed),
		cmocka_unit_test(test_only_what_must_move_counts),
		cmocka_unit_test(test_a_floor_that_the_baseline_beats_is_none),
		cmocka_unit_test(test_both_numbers_are_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
