/* base_json.c - JSON in and out, random numbers, time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <unistd.h>

#include "base/json.h"

static void test_malformed_json_is_a_sentence_with_its_place(void **state)
{
	static const struct { const char *text, *words; } row[] = {
		{ "", "line 1" },
		{ "{\n  \"a\": }", "line 2" },
		{ "{\"a\": 1, \"a\": 2}", "duplicate" },
		{ "[1] x", "line 1" },
		{ "[NaN]", "line 1" },
		{ "[1e400]", "line 1" },
		{ "\"\xff\"", "byte 0xff" },
		{ "99999999999999999999", "too big" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(row); i++) {
		struct kf_err err = { 0 };
		json_t *value = NULL;

		assert_int_equal(kf_json_parse(row[i].text,
					       strlen(row[i].text), "it",
					       &value, &err), KF_E_INPUT);
		assert_null(value);
		assert_ptr_equal(strstr(err.text, "it is not valid JSON"),
				 err.text);
		if (!strstr(err.text, row[i].words))
			fail_msg("%s", err.text);
	}
}

static void test_deep_nesting_is_refused(void **state)
{
	struct kf_buf text = { .max = 1u << 20 };
	struct kf_err err;
	json_t *value;

	(void)state;
	for (int i = 0; i < 100000; i++)
		kf_buf_puts(&text, "[");
	assert_int_equal(kf_json_parse(text.data, text.len, "it", &value,
				       &err), KF_E_INPUT);
	kf_buf_release(&text);
}

static void test_integers_and_reals_survive_exactly(void **state)
{
	static const char text[] = "{\"i\":9223372036854775807,\"r\":0.1}";
	json_t *value, *again;
	char *compact;

	(void)state;
	assert_int_equal(kf_json_parse(text, strlen(text), "it", &value, NULL),
			 KF_OK);
	compact = kf_json_text(value);
	assert_int_equal(kf_json_parse(compact, strlen(compact), "it", &again,
				       NULL), KF_OK);
	assert_true(kf_json_int(again, "i", 0) == INT64_MAX);
	assert_true(kf_json_real(again, "r", 0) == 0.1);
	free(compact);
	json_decref(value);
	json_decref(again);
}

static void test_getters_give_the_default_for_another_type(void **state)
{
	json_t *object = json_pack("{s:s, s:i, s:f, s:b, s:n}", "text", "t",
				   "int", 7, "real", 1.5, "bool", 1, "null");
	json_t *array = json_array();

	(void)state;
	assert_string_equal(kf_json_str(object, "text", "d"), "t");
	assert_string_equal(kf_json_str(object, "int", "d"), "d");
	assert_null(kf_json_str(object, "absent", NULL));
	assert_int_equal(kf_json_int(object, "int", 1), 7);
	assert_int_equal(kf_json_int(object, "real", 1), 1);
	assert_true(kf_json_real(object, "real", 0) == 1.5);
	assert_true(kf_json_real(object, "int", 0) == 7);
	assert_true(isnan(kf_json_real(object, "null", NAN)));
	assert_true(kf_json_bool(object, "bool", false));
	assert_false(kf_json_bool(object, "int", false));
	assert_int_equal(kf_json_int(array, "int", 1), 1);
	assert_int_equal(kf_json_int(NULL, "int", 1), 1);
	assert_string_equal(kf_json_str(NULL, "text", "d"), "d");
	json_decref(object);
	json_decref(array);
}

static void test_numbers_that_json_lacks_become_null(void **state)
{
	static const double number[] = { NAN, INFINITY, -INFINITY };

	(void)state;
	for (size_t i = 0; i < KF_COUNT(number); i++)
		assert_true(json_is_null(kf_json_number(number[i])));
	for (int i = 0; i < 2; i++) {
		json_t *value = kf_json_number(i ? -0.0 : 1e300);

		assert_true(json_is_real(value));
		json_decref(value);
	}
}

static void test_any_bytes_become_a_string(void **state)
{
	json_t *value = kf_json_string("a\xff\0\xc3\xa9", 5);
	json_t *empty = kf_json_string("", 0);

	(void)state;
	assert_string_equal(json_string_value(value),
			    "a\xef\xbf\xbd?\xc3\xa9");
	assert_string_equal(json_string_value(empty), "");
	json_decref(value);
	json_decref(empty);
}

static void test_written_json_reads_back_in_order(void **state)
{
	char path[] = "/tmp/kforge-test-XXXXXX";
	struct kf_buf text = { .max = 1000 };
	json_t *value = json_pack("{s:i, s:[i,i]}", "z", 1, "a", 2, 3);
	json_t *again = NULL;
	struct kf_err err;

	(void)state;
	close(mkstemp(path));
	assert_int_equal(kf_json_write(path, value, &err), KF_OK);
	assert_int_equal(kf_json_read(path, &again, &err), KF_OK);
	assert_true(json_equal(value, again));
	assert_int_equal(kf_file_read(path, &text, &err), KF_OK);
	assert_int_equal(text.data[text.len - 1], '\n');
	assert_true(strchr(text.data, 'z') < strchr(text.data, 'a'));
	json_decref(again);
	assert_int_equal(kf_file_write(path, "{", 1, &err), KF_OK);
	assert_int_equal(kf_json_read(path, &again, &err), KF_E_INPUT);
	assert_non_null(strstr(err.text, path));
	assert_null(again);
	unlink(path);
	assert_int_equal(kf_json_read(path, &again, &err), KF_E_IO);
	kf_buf_release(&text);
	json_decref(value);
}

/* Secret orders and samples of old runs must be the same in later versions. */
static void test_random_numbers_of_a_seed_never_change(void **state)
{
	struct kf_rng zero = { 0 }, other = { 1234567 };

	(void)state;
	assert_true(kf_rng_next(&zero) == UINT64_C(0xe220a8397b1dcdaf));
	assert_true(kf_rng_next(&zero) == UINT64_C(0x6e789e6aa1b965f4));
	assert_true(kf_rng_next(&other) == UINT64_C(6457827717110365317));
	assert_true(kf_rng_next(&other) == UINT64_C(3203168211198807973));
}

static void test_random_numbers_stay_in_their_bounds(void **state)
{
	static const uint64_t bound[] = { 1, 2, 3, 10, UINT64_C(1) << 63,
					  (UINT64_C(1) << 63) + 1, UINT64_MAX };
	struct kf_rng rng = { 5 };

	(void)state;
	for (size_t i = 0; i < KF_COUNT(bound); i++)
		for (int k = 0; k < 1000; k++)
			assert_true(kf_rng_below(&rng, bound[i]) < bound[i]);
	for (int k = 0; k < 1000; k++) {
		double value = kf_rng_double(&rng);

		assert_true(value >= 0 && value < 1);
	}
}

static void test_random_numbers_reach_every_value(void **state)
{
	struct kf_rng rng = { 6 };
	unsigned seen[6] = { 0 };

	(void)state;
	for (int k = 0; k < 6000; k++)
		seen[kf_rng_below(&rng, 6)]++;
	for (size_t i = 0; i < KF_COUNT(seen); i++)
		assert_in_range(seen[i], 800, 1200);
}

static void test_random_bytes_differ(void **state)
{
	unsigned char a[300] = { 0 }, b[300] = { 0 };

	(void)state;
	kf_random_bytes(a, sizeof(a));
	kf_random_bytes(b, sizeof(b));
	assert_memory_not_equal(a, b, sizeof(a));
	kf_random_bytes(NULL, 0);
}

static void test_time_goes_forward_and_prints_as_utc(void **state)
{
	uint64_t before = kf_now_ns();
	char text[32];
	unsigned y, mo, d, h, mi, s;
	char z;

	(void)state;
	kf_sleep_ns(1000);
	assert_true(kf_now_ns() >= before + 1000);
	kf_time_iso(text);
	assert_int_equal(strlen(text), 20);
	assert_int_equal(sscanf(text, "%4u-%2u-%2uT%2u:%2u:%2u%c", &y, &mo, &d,
				&h, &mi, &s, &z), 7);
	assert_int_equal(z, 'Z');
	assert_in_range(mo, 1, 12);
}

int main(void)
{
	static const struct CMUnitTest test[] = {
		cmocka_unit_test(
			test_malformed_json_is_a_sentence_with_its_place),
		cmocka_unit_test(test_deep_nesting_is_refused),
		cmocka_unit_test(test_integers_and_reals_survive_exactly),
		cmocka_unit_test(
			test_getters_give_the_default_for_another_type),
		cmocka_unit_test(test_numbers_that_json_lacks_become_null),
		cmocka_unit_test(test_any_bytes_become_a_string),
		cmocka_unit_test(test_written_json_reads_back_in_order),
		cmocka_unit_test(test_random_numbers_of_a_seed_never_change),
		cmocka_unit_test(test_random_numbers_stay_in_their_bounds),
		cmocka_unit_test(test_random_numbers_reach_every_value),
		cmocka_unit_test(test_random_bytes_differ),
		cmocka_unit_test(test_time_goes_forward_and_prints_as_utc),
	};

	return cmocka_run_group_tests(test, NULL, NULL);
}
