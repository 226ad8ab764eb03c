#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "provider/retry.h"

#define S KF_NS_PER_S
#define MS KF_NS_PER_MS
#define NOW 784111777	/* Sun, 06 Nov 1994 08:49:37 GMT */

static void test_only_what_may_pass_is_tried_again(void **state)
{
	static const long yes[] = { 408, 409, 429, 500, 502, 503, 504, 529,
				    599 };
	static const long no[] = { 0, 200, 301, 400, 401, 403, 404, 413, 422,
				   499, 600, -500 };

	(void)state;
	for (size_t i = 0; i < KF_COUNT(yes); i++)
		assert_true(kf_retry_status(yes[i]));
	for (size_t i = 0; i < KF_COUNT(no); i++)
		assert_false(kf_retry_status(no[i]));
}

static void test_what_the_server_asks_for_is_understood(void **state)
{
	static const struct {
		const char *after, *after_ms;
		bool known;
		uint64_t ns;
	} rows[] = {
		{ "30", NULL, true, 30 * S },
		{ "1.5", NULL, true, 1500 * MS },
		{ "0", "", true, 0 },
		{ "", "250", true, 250 * MS },
		{ "", "0.0000001", true, 1 },
		{ "30", "250", true, 250 * MS },
		{ "2", "soon", true, 2 * S },
		{ "1000000000", NULL, true, 1000000000 * S },
		{ "1e300", NULL, true, UINT64_MAX },
		{ "Sun, 06 Nov 1994 08:49:38 GMT", NULL, true, 1 * S },
		{ "Sun, 06 Nov 1994 09:49:37 GMT", NULL, true, 3600 * S },
		{ "Sun, 06 Nov 1994 08:49:36 GMT", NULL, true, 0 },
		{ "Thu, 01 Jan 1970 00:00:00 GMT", NULL, true, 0 },
		{ "soon", NULL, false, 0 },
		{ "-5", NULL, false, 0 },
		{ "-5", "-1", false, 0 },
		{ "+5", NULL, false, 0 },
		{ " 5", NULL, false, 0 },
		{ "5 seconds", NULL, false, 0 },
		{ "0x10", NULL, false, 0 },
		{ "nan", NULL, false, 0 },
		{ "inf", NULL, false, 0 },
		{ "", NULL, false, 0 },
		{ NULL, NULL, false, 0 },
		{ "Sun, 06 Foo 1994 08:49:37 GMT", NULL, false, 0 },
		{ "Sun, 06 Nov 1994 08:49:37", NULL, false, 0 },
		{ "Sun, 06 Nov 1994 08:49:37 CET", NULL, false, 0 },
		{ "Sun, 06 Nov 1994 28:49:37 GMT", NULL, false, 0 },
		{ "Sun, 06 Nov 1994 08:49:37 GMT!", NULL, false, 0 },
		{ "Sun,", NULL, false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		uint64_t ns = 77;
		bool known = kf_retry_asked_ns(rows[i].after, rows[i].after_ms,
					       NOW, &ns);

		if (known != rows[i].known || ns != rows[i].ns)
			fail_msg("'%s', '%s': %d, %llu ns",
				 rows[i].after ? rows[i].after : "NULL",
				 rows[i].after_ms ? rows[i].after_ms : "NULL",
				 known, (unsigned long long)ns);
	}
}

static const struct kf_retry_policy policy = {
	.retry_max = 4, .floor_ns = 1 * S, .cap_ns = 5 * S,
	.asked_cap_ns = 60 * S,
};

static void test_waits_double_from_the_floor_to_the_cap(void **state)
{
	static const struct {
		unsigned failed;
		uint64_t asked_ns, left_ns;
		bool again;
		uint64_t delay_ns;
	} rows[] = {
		{ 1, 0, 100 * S, true, 1 * S },
		{ 2, 0, 100 * S, true, 2 * S },
		{ 3, 0, 100 * S, true, 4 * S },
		{ 4, 0, 100 * S, true, 5 * S },
		{ 5, 0, 100 * S, false, 5 * S },	/* no try left */
		{ 1000000, 0, 100 * S, false, 5 * S },
		{ 1, 500 * MS, 100 * S, true, 1 * S },	/* floor */
		{ 1, 30 * S, 100 * S, true, 30 * S },
		{ 1, UINT64_MAX, 100 * S, true, 60 * S },	/* cap */
		{ 1, 30 * S, 30 * S, false, 30 * S },	/* deadline */
		{ 1, 0, 0, false, 1 * S },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		uint64_t delay_ns = 0;
		bool again = kf_retry_next(&policy, rows[i].failed,
					   rows[i].asked_ns, 0,
					   rows[i].left_ns, &delay_ns);

		if (again != rows[i].again || delay_ns != rows[i].delay_ns)
			fail_msg("row %zu: %d after %llu ns", i, again,
				 (unsigned long long)delay_ns);
	}
}

static void test_the_random_part_is_a_quarter_at_most(void **state)
{
	uint64_t delay_ns = 0;

	(void)state;
	assert_true(kf_retry_next(&policy, 1, 0, 0.999, 10 * S, &delay_ns));
	assert_in_range(delay_ns, 1249 * MS, 1250 * MS);
	assert_false(kf_retry_next(&policy, 1, 0, 0.999, 1200 * MS,
				   &delay_ns));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_what_may_pass_is_tried_again),
		cmocka_unit_test(test_what_the_server_asks_for_is_understood),
		cmocka_unit_test(test_waits_double_from_the_floor_to_the_cap),
		cmocka_unit_test(test_the_random_part_is_a_quarter_at_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
