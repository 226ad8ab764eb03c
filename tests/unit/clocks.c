/* Clock rates of a device while it is timed, from a script. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants those first */
#include <cmocka.h>

#include "evaluate/clocks.h"

struct kf_clock_watch {
	const struct kf_clocks *look;	/* core_mhz of 0: it fails */
	size_t next;
	bool closed;
};

static enum kf_code script_open(const char *device_id,
				struct kf_clock_watch **out,
				struct kf_err *err)
{
	static struct kf_clock_watch none;

	*out = NULL;
	if (strcmp(device_id, "absent:0") == 0)
		return kf_fail(err, KF_E_UNAVAIL, "nothing there");
	*out = &none;
	return KF_OK;
}

static enum kf_code script_read(struct kf_clock_watch *w, struct kf_clocks *out,
				struct kf_err *err)
{
	*out = w->look[w->next++];
	return out->core_mhz ? KF_OK :
		kf_fail(err, KF_E_UNAVAIL, "it tells no more");
}

static void script_close(struct kf_clock_watch *w)
{
	w->closed = true;
}

static const struct kf_clock_source source = {
	.open = script_open, .read = script_read, .close = script_close
};
static const struct kf_driver with = { .name = "with", .clocks = &source };
static const struct kf_driver without = { .name = "without" };

static const struct kf_clock_source momentary = {
	.open = script_open, .read = script_read, .close = script_close,
	.momentary = true,
};

static void test_the_same_is_within_two_percent(void **state)
{
	static const struct {
		struct kf_clocks a, b;
		bool same;
	} rows[] = {
		{ { 1980, 2619, 40, 0 }, { 1980, 2619, 70, 0 }, true },
		{ { 2000, 2619, 40, 0 }, { 1960, 2619, 40, 0 }, true },
		{ { 2000, 2619, 40, 0 }, { 1959, 2619, 40, 0 }, false },
		{ { 2000, 2619, 40, 0 }, { 2041, 2619, 40, 0 }, false },
		{ { 2000, 2600, 40, 0 }, { 2000, 2500, 40, 0 }, false },
		{ { 2000, 0, 0, 0 }, { 2000, 2500, 0, 0 }, true },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++)
		if (kf_clocks_same(&rows[i].a, &rows[i].b) != rows[i].same)
			fail_msg("row %zu", i);
}

/* A pair of three looks: at its beginning, between the blocks, at its end. */
static void test_which_pairs_are_unsteady(void **state)
{
	static const struct {
		struct kf_clocks look[3];
		bool unsteady, unsteady_if_momentary;
		unsigned changed;
	} rows[] = {
		{ { { 2000, 9, 9, 0 }, { 2000, 9, 9, 0 }, { 2000, 9, 9, 0 } },
		  false, false, 0 },
		{ { { 2000, 9, 9, 0 }, { 2100, 9, 9, 0 }, { 2000, 9, 9, 0 } },
		  true, false, 1 },
		{ { { 2000, 9, 9, 0 }, { 2100, 9, 9, 0 }, { 2200, 9, 9, 0 } },
		  true, false, 1 },
		{ { { 2000, 9, 9, 0 }, { 2000, 9, 9, 0 },
		    { 2000, 9, 9, KF_THROTTLE_HEAT } }, true, true, 0 },
		{ { { 2000, 9, 9, KF_THROTTLE_POWER }, { 2000, 9, 9, 0 },
		    { 2000, 9, 9, 0 } }, true, true, 0 },
	};

	(void)state;
	for (size_t i = 0; i < 2 * KF_COUNT(rows); i++) {
		struct kf_clock_watch watch = { .look = rows[i / 2].look };
		struct kf_clock_log log = {
			.source = i % 2 ? &momentary : &source,
			.watch = &watch,
		};

		kf_clock_log_begin(&log, &with, "with:0");
		(void)kf_clock_log_look(&log);
		if (kf_clock_log_look(&log) ==
		    (i % 2 ? rows[i / 2].unsteady_if_momentary :
		     rows[i / 2].unsteady) ||
		    log.changed_count != rows[i / 2].changed)
			fail_msg("row %zu", i);
		kf_clock_log_release(&log);
	}
}

static void test_a_pair_is_unsteady_once(void **state)
{
	static const struct kf_clocks look[] = {
		{ 1980, 2619, 41, 0 }, { 1980, 2619, 42, 0 },
		{ 1980, 2619, 43, 0 },
		{ 1980, 2619, 44, 0 }, { 1500, 2619, 45, 0 },
		{ 1980, 2619, 46, 0 },
	};
	struct kf_clock_watch watch = { .look = look };
	struct kf_clock_log log = { .source = &source, .watch = &watch };
	json_t *json;

	(void)state;
	kf_clock_log_begin(&log, &with, "with:0");
	assert_true(kf_clock_log_look(&log));
	assert_true(kf_clock_log_look(&log));
	kf_clock_log_begin(&log, &with, "with:0");
	assert_false(kf_clock_log_look(&log));
	assert_false(kf_clock_log_look(&log));
	assert_int_equal(log.pair_count, 2);
	assert_int_equal(log.unsteady_count, 1);
	assert_int_equal(log.changed_count, 1);
	assert_true(kf_clock_log_bad(&log));
	json = kf_clock_log_to_json(&log);
	assert_int_equal(json_integer_value(json_array_get(json_object_get(
				json, "core_mhz"), 0)), 1500);
	assert_int_equal(json_integer_value(json_array_get(json_object_get(
				json, "core_mhz"), 1)), 1980);
	assert_int_equal(json_integer_value(json_array_get(json_object_get(
				json, "temperature_c"), 1)), 45);
	json_decref(json);
	kf_clock_log_release(&log);
	assert_true(watch.closed);
}

static void test_what_is_not_told_is_steady_and_says_so(void **state)
{
	static const struct kf_clocks look[] = {
		{ 1980, 2619, 41, 0 }, { 0, 0, 0, 0 },
	};
	struct kf_clock_watch watch = { .look = look };
	struct kf_clock_log stops = { .source = &source, .watch = &watch };
	struct kf_clock_log absent = { 0 }, none = { 0 };
	json_t *json;

	(void)state;
	kf_clock_log_begin(&stops, &with, "with:0");
	assert_true(kf_clock_log_look(&stops));
	assert_string_equal(stops.why, "it tells no more");
	assert_true(watch.closed);
	kf_clock_log_begin(&absent, &with, "absent:0");
	assert_true(kf_clock_log_look(&absent));
	assert_string_equal(absent.why, "nothing there");
	assert_false(kf_clock_log_bad(&absent));
	kf_clock_log_begin(&none, &without, "without:0");
	assert_true(kf_clock_log_look(&none));
	json = kf_clock_log_to_json(&none);
	assert_true(json_is_null(json));
	json_decref(json);
	kf_clock_log_release(&none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_same_is_within_two_percent),
		cmocka_unit_test(test_which_pairs_are_unsteady),
		cmocka_unit_test(test_a_pair_is_unsteady_once),
		cmocka_unit_test(test_what_is_not_told_is_steady_and_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
