/* The promises of duel.h that need no process: what rounds of times say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "evaluate/duel.h"

static double normal(struct kf_rng *rng)
{
	double u = kf_rng_double(rng), v = kf_rng_double(rng);

	return sqrt(-2 * log(1 - u)) * cos(6.283185307179586 * v);
}

/* Rounds of a duel on a simulated clock, until the rule stops it: the sides'
 * true times, with noise of so much from process to process, while the whole
 * machine drifts. */
static void fight(struct kf_rng *rng, const double *true_ns, size_t programs,
		  size_t sides, double noise, struct kf_duel *duel)
{
	struct kf_duel_round round[KF_DUEL_ROUNDS];
	size_t count = 0;

	*duel = (struct kf_duel) {
		.program_count = programs, .side_count = sides,
		.wrong = programs,
	};
	while (!kf_duel_done(duel)) {
		double drift = 1 + 0.05 * (double)count;

		for (size_t i = 0; i < sides; i++)
			round[count].time_ns[i] = true_ns[i] * drift *
				exp(noise * normal(rng));
		count++;
		kf_duel_settle(round, count, duel);
	}
}

static void test_identical_programs_show_no_difference(void **state)
{
	static const double times[] = { 1e6, 1e6 };
	static const double noises[] = { 0, 0.001, 0.005, 0.02, 0.1 };
	struct kf_rng rng = { 1 };

	(void)state;
	for (size_t i = 0; i < KF_COUNT(noises); i++) {
		unsigned called = 0;

		for (unsigned trial = 0; trial < 500; trial++) {
			struct kf_duel d;

			fight(&rng, times, 2, 2, noises[i], &d);
			assert_int_not_equal(d.pair[0].end, KF_DUEL_UNKNOWN);
			called += d.pair[0].end != KF_DUEL_NO_DIFFERENCE;
		}
		/* 95 % intervals: 25 in 500, were all as wide as they may be
		 * and nothing below half a percent let pass. */
		assert_true(called <= (noises[i] < 0.02 ? 12 : 30));
	}
}

static void test_a_faster_program_is_found_with_its_factor(void **state)
{
	static const struct {
		double a, b;
		enum kf_duel_end end;
	} rows[] = {
		{ 1e6, 0.97e6, KF_DUEL_FASTER },
		{ 1e6, 0.5e6, KF_DUEL_FASTER },
		{ 1e6, 1.03e6, KF_DUEL_SLOWER },
		{ 1e6, 9e6, KF_DUEL_SLOWER },
	};
	struct kf_rng rng = { 2 };

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		const double times[] = { rows[i].a, rows[i].b };
		unsigned covered = 0;

		for (unsigned trial = 0; trial < 200; trial++) {
			double right = rows[i].a / rows[i].b;
			struct kf_duel d;

			fight(&rng, times, 2, 2, 0.003, &d);
			assert_int_equal(d.pair[0].end, rows[i].end);
			assert_true(d.pair[0].conclusive);
			covered += d.pair[0].ratio.low <= right &&
				right <= d.pair[0].ratio.high;
		}
		assert_true(covered >= 180);	/* about 95 % of them */
	}
}

static void test_what_an_interval_says(void **state)
{
	static const struct {
		double low, high;
		enum kf_duel_end end;
	} rows[] = {
		{ 0.99, 1.01, KF_DUEL_NO_DIFFERENCE },
		{ 1.001, 1.02, KF_DUEL_NO_DIFFERENCE },
		{ 1.006, 1.02, KF_DUEL_FASTER },
		{ 0.98, 0.994, KF_DUEL_SLOWER },
		{ 0.98, 0.999, KF_DUEL_NO_DIFFERENCE },
		{ 0.5, 3, KF_DUEL_NO_DIFFERENCE },
		{ (double)NAN, (double)NAN, KF_DUEL_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_ratio r = {
			.low = rows[i].low, .high = rows[i].high,
		};

		assert_int_equal(kf_duel_decide(&r), rows[i].end);
	}
}

static void test_all_pairs_are_told_and_only_programs_hold_it_up(void **state)
{
	/* The baseline's rounds are wild; the programs' are not. */
	struct kf_duel_round round[KF_DUEL_ROUNDS];
	struct kf_duel d = { .program_count = 2, .side_count = 3, .wrong = 2 };

	(void)state;
	for (size_t i = 0; i < 5; i++)
		round[i] = (struct kf_duel_round) {
			{ 1e6, 0.5e6, i % 2 ? 1e6 : 9e6 },
		};
	kf_duel_settle(round, 4, &d);
	assert_false(kf_duel_done(&d));
	kf_duel_settle(round, 5, &d);
	assert_true(kf_duel_done(&d));
	assert_int_equal(d.pair_count, 3);
	assert_int_equal(d.pair[0].end, KF_DUEL_FASTER);
	assert_true(d.pair[0].conclusive);
	assert_int_equal(d.pair[1].b, 2);
	assert_int_equal(d.pair[1].end, KF_DUEL_NO_DIFFERENCE);
	assert_false(d.pair[1].conclusive);
	assert_true(fabs(d.time_ns[1] - 0.5e6) < 1);
}

static void test_short_calls_and_a_busy_machine_conclude_nothing(void **state)
{
	struct kf_duel_round round[6];
	struct kf_duel d = { .program_count = 2, .side_count = 2, .wrong = 2 };

	(void)state;
	for (size_t i = 0; i < KF_COUNT(round); i++)
		round[i] = (struct kf_duel_round) { { 10e3, 15e3 } };
	kf_duel_settle(round, KF_COUNT(round), &d);
	assert_int_equal(d.pair[0].end, KF_DUEL_SLOWER);
	assert_false(d.pair[0].conclusive);
	for (size_t i = 0; i < KF_COUNT(round); i++)
		round[i] = (struct kf_duel_round) { { 1e6, 2e6 } };
	kf_duel_settle(round, KF_COUNT(round), &d);
	assert_true(d.pair[0].conclusive);
	d.disturbed_count = 5;
	kf_duel_settle(round, KF_COUNT(round), &d);
	assert_false(d.pair[0].conclusive);
}

static void test_every_order_comes_up(void **state)
{
	unsigned seen[27] = { 0 }, orders = 0;
	struct kf_rng rng = { 3 };

	(void)state;
	for (unsigned i = 0; i < 600; i++) {
		size_t order[3];

		kf_duel_order(&rng, 3, order);
		assert_int_equal(order[0] + order[1] + order[2], 3);
		assert_int_not_equal(order[0], order[1]);
		seen[order[0] * 9 + order[1] * 3 + order[2]]++;
	}
	for (size_t i = 0; i < KF_COUNT(seen); i++) {
		orders += seen[i] > 0;
		assert_true(!seen[i] || (seen[i] > 60 && seen[i] < 140));
	}
	assert_int_equal(orders, 6);
}

static void test_words_say_who_is_faster_and_by_how_much(void **state)
{
	static const char *const name[] = { "old.c", "new.c", "eager" };
	struct kf_duel_round round[5];
	struct kf_buf words = { .max = 4096 };
	struct kf_duel d = { .program_count = 2, .side_count = 3, .wrong = 2,
			     .block_calls = 10 };
	json_t *json, *pair;

	(void)state;
	for (size_t i = 0; i < 5; i++)
		round[i] = (struct kf_duel_round) { { 3e6, 2e6, 2.004e6 } };
	kf_duel_settle(round, 5, &d);
	kf_duel_explain(&d, name, &words);
	assert_non_null(strstr(kf_buf_str(&words),
			       "B is faster than A by 1.5 "));
	assert_non_null(strstr(kf_buf_str(&words),
			       "baseline against B: no difference shown"));
	assert_non_null(strstr(kf_buf_str(&words), "2 ms a call   new.c"));
	kf_buf_release(&words);
	json = kf_duel_to_json(&d, name);
	pair = json_array_get(json_object_get(json, "pairs"), 0);
	assert_string_equal(kf_json_str(pair, "b_is", ""), "faster");
	assert_true(kf_json_bool(pair, "conclusive", false));
	json_decref(json);
}

/* No input counts, and of the output 750 bytes, at 1 MB/s. */
static void test_who_beats_its_bytes_is_not_believed(void **state)
{
	static const struct { double time_ns; bool conclusive; } rows[] = {
		{ 740e3, false }, { 760e3, true },
	};
	struct kf_driver driver = { .flushes = true };
	struct kf_platform platform = { .driver = &driver };
	struct kf_tensor_info out = { .bytes = 1001 };
	struct kf_bundle bundle = { .out = &out, .out_count = 1 };
	struct kf_evaluate_request base = {
		.platform = &platform, .bundle = &bundle,
		.device_ceiling = { .bytes_per_s = 1e6, .cache_bytes = 1 },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_duel_round round[5];
		struct kf_duel d = { .program_count = 1, .side_count = 2 };
		struct kf_verdict v = {
			.evidence = json_pack("{s:[]}", "notes"),
		};

		for (size_t k = 0; k < 5; k++)
			round[k] = (struct kf_duel_round) {
				{ rows[i].time_ns, 2e6 } };
		kf_duel_settle(round, 5, &d);
		kf_duel_tell(&(struct kf_duel_request) { .base = &base }, &d,
			     0, &v);
		assert_int_equal(v.conclusive, rows[i].conclusive);
		assert_int_equal(json_array_size(json_object_get(
					 v.evidence, "notes")),
				 !rows[i].conclusive);
		json_decref(v.evidence);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_identical_programs_show_no_difference),
		cmocka_unit_test(
			test_a_faster_program_is_found_with_its_factor),
		cmocka_unit_test(test_what_an_interval_says),
		cmocka_unit_test(
			test_all_pairs_are_told_and_only_programs_hold_it_up),
		cmocka_unit_test(
			test_short_calls_and_a_busy_machine_conclude_nothing),
		cmocka_unit_test(test_every_order_comes_up),
		cmocka_unit_test(test_words_say_who_is_faster_and_by_how_much),
		cmocka_unit_test(test_who_beats_its_bytes_is_not_believed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
