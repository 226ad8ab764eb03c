/* base_text.c - UTF-8, numbers, steps and their times, element types. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"
#include "base/laps.h"

#define BAD "\xef\xbf\xbd"	/* U+FFFD */

static const struct {
	const char *name, *bytes;
	size_t len;
	const char *clean;
} utf8_row[] = {
	{ "plain", "abc\n\t", 5, "abc\n\t" },
	{ "nothing", "", 0, "" },
	{ "two, three and four bytes", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9,
	  "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" },
	{ "control characters", "a\r\x1b[0m\x7f\0b", 9, "a??[0m??b" },
	{ "lone continuation", "a\x80z", 3, "a" BAD "z" },
	{ "lead without rest", "a\xc3", 2, "a" BAD },
	{ "lead before plain", "\xe2\x82z", 3, BAD BAD "z" },
	{ "overlong slash", "\xc0\xaf", 2, BAD BAD },
	{ "overlong in three", "\xe0\x80\xaf", 3, BAD BAD BAD },
	{ "overlong in four", "\xf0\x80\x80\xaf", 4, BAD BAD BAD BAD },
	{ "surrogate", "\xed\xa0\x80", 3, BAD BAD BAD },
	{ "last before surrogates", "\xed\x9f\xbf", 3, "\xed\x9f\xbf" },
	{ "first after surrogates", "\xee\x80\x80", 3, "\xee\x80\x80" },
	{ "largest point", "\xf4\x8f\xbf\xbf", 4, "\xf4\x8f\xbf\xbf" },
	{ "beyond the largest", "\xf4\x90\x80\x80", 4, BAD BAD BAD BAD },
	{ "five-byte form", "\xf8\x88\x80\x80\x80", 5, BAD BAD BAD BAD BAD },
	{ "never a byte", "\xff\xfe", 2, BAD BAD },
};

static void test_clean_leaves_only_valid_utf8(void **state)
{
	(void)state;
	for (size_t i = 0; i < KF_COUNT(utf8_row); i++) {
		struct kf_buf out = { .max = 100 };

		kf_utf8_clean(utf8_row[i].bytes, utf8_row[i].len, &out);
		if (strcmp(kf_buf_str(&out), utf8_row[i].clean))
			fail_msg("%s", utf8_row[i].name);
		kf_buf_release(&out);
	}
}

static void test_clean_is_cut_between_characters(void **state)
{
	static const char text[] = "a\xe2\x82\xac\xf0\x9f\x98\x80z";
	static const size_t kept[] = { 0, 1, 1, 1, 4, 4, 4, 4, 8, 9, 9 };

	(void)state;
	for (size_t max = 0; max < KF_COUNT(kept); max++) {
		struct kf_buf out = { .max = max };

		kf_utf8_clean(text, strlen(text), &out);
		assert_int_equal(out.len, kept[max]);
		assert_int_equal(strlen(kf_buf_str(&out)), kept[max]);
		kf_buf_release(&out);
	}
}

static void test_cleaning_twice_changes_nothing(void **state)
{
	struct kf_rng rng = { 1 };

	(void)state;
	for (int round = 0; round < 2000; round++) {
		struct kf_buf once = { .max = 400 }, twice = { .max = 400 };
		char bytes[24];

		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (char)(kf_rng_next(&rng) >> 7);
		kf_utf8_clean(bytes, sizeof(bytes), &once);
		kf_utf8_clean(kf_buf_str(&once), once.len, &twice);
		assert_string_equal(kf_buf_str(&once), kf_buf_str(&twice));
		kf_buf_release(&once);
		kf_buf_release(&twice);
	}
}

static void test_repair_changes_only_what_is_invalid(void **state)
{
	static const char text[] = "\x1b[1m\r\n\xc3\xa9\xff\0z";
	struct kf_buf out = { .max = 100 }, small = { .max = 3 };

	(void)state;
	assert_true(kf_utf8_repair(text, sizeof(text) - 1, &out));
	assert_string_equal(kf_buf_str(&out),
			    "\x1b[1m\r\n\xc3\xa9" BAD BAD "z");
	assert_false(kf_utf8_repair(text, sizeof(text) - 1, &small));
	kf_buf_release(&out);
	kf_buf_release(&small);
}

static void test_cut_never_splits_a_sequence(void **state)
{
	static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
	static const size_t cut[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10 };

	(void)state;
	for (size_t len = 0; len < KF_COUNT(cut); len++)
		assert_int_equal(kf_utf8_cut(text, len), cut[len]);
	/* Not UTF-8 at all: nothing is cut that could be whole. */
	assert_int_equal(kf_utf8_cut("\x80\x80\x80\x80\x80", 5), 5);
}

static void test_unsigned_numbers_use_the_whole_text(void **state)
{
	static const struct {
		const char *text;
		bool good;
		uint64_t value;
	} row[] = {
		{ "0", true, 0 },
		{ "007", true, 7 },
		{ "18446744073709551615", true, UINT64_MAX },
		{ "18446744073709551616", false, 0 },
		{ "", false, 0 },
		{ " 1", false, 0 },
		{ "1 ", false, 0 },
		{ "+1", false, 0 },
		{ "-1", false, 0 },
		{ "0x10", false, 0 },
		{ "1e3", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(row); i++) {
		uint64_t value = 42;

		if (kf_parse_u64(row[i].text, &value) != row[i].good)
			fail_msg("'%s'", row[i].text);
		assert_int_equal(value, row[i].good ? row[i].value : 42);
	}
}

static void test_signed_numbers_use_the_whole_text(void **state)
{
	static const struct {
		const char *text;
		bool good;
		int64_t value;
	} row[] = {
		{ "-0", true, 0 },
		{ "-12", true, -12 },
		{ "9223372036854775807", true, INT64_MAX },
		{ "-9223372036854775808", true, INT64_MIN },
		{ "9223372036854775808", false, 0 },
		{ "-9223372036854775809", false, 0 },
		{ "-", false, 0 },
		{ "--1", false, 0 },
		{ "+1", false, 0 },
		{ "1.0", false, 0 },
		{ "", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(row); i++) {
		int64_t value = 42;

		if (kf_parse_i64(row[i].text, &value) != row[i].good)
			fail_msg("'%s'", row[i].text);
		assert_true(value == (row[i].good ? row[i].value : 42));
	}
}

static void test_real_numbers_are_finite_and_whole(void **state)
{
	static const struct {
		const char *text;
		bool good;
		double value;
	} row[] = {
		{ "0.5", true, 0.5 },
		{ "-1e3", true, -1000 },
		{ ".25", true, 0.25 },
		{ "3", true, 3 },
		{ "1,5", false, 0 },
		{ "1.5x", false, 0 },
		{ " 1", false, 0 },
		{ "", false, 0 },
		{ ".", false, 0 },
		{ "nan", false, 0 },
		{ "-inf", false, 0 },
		{ "1e999", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(row); i++) {
		double value = 42;

		if (kf_parse_double(row[i].text, &value) != row[i].good)
			fail_msg("'%s'", row[i].text);
		assert_true(value == (row[i].good ? row[i].value : 42));
	}
}

static void test_times_have_the_unit_that_suits_them(void **state)
{
	static const struct {
		double ns;
		int digits;
		const char *words;
	} row[] = {
		{ 0, 3, "0 ns" }, { 999, 3, "999 ns" }, { 1000, 3, "1 us" },
		{ 1234567, 3, "1.23 ms" }, { 1234567, 4, "1.235 ms" },
		{ 2e9, 3, "2 s" }, { 90e9, 3, "90 s" },
	};
	char words[32];

	(void)state;
	for (size_t i = 0; i < KF_COUNT(row); i++)
		assert_string_equal(kf_time_words(row[i].ns, row[i].digits,
						  words), row[i].words);
}

static void test_dtype_names_lead_back_to_their_numbers(void **state)
{
	(void)state;
	for (int i = KF_BOOL; i <= KF_F64; i++) {
		enum kf_dtype dtype = (enum kf_dtype)i;

		assert_int_equal(kf_dtype_by_name(kf_dtype_name(dtype)), dtype);
		assert_in_range(kf_dtype_bytes(dtype), 1, 8);
	}
	assert_int_equal(kf_dtype_bytes(KF_BF16), 2);
	assert_int_equal(kf_dtype_bytes(KF_DTYPE_NONE), 0);
	assert_int_equal(kf_dtype_bytes((enum kf_dtype)99), 0);
	assert_string_equal(kf_dtype_name((enum kf_dtype)99), "none");
	assert_int_equal(kf_dtype_by_name("none"), KF_DTYPE_NONE);
	assert_int_equal(kf_dtype_by_name("complex64"), KF_DTYPE_NONE);
}

static void test_steps_of_one_name_are_added_up(void **state)
{
	struct kf_laps all = { 0 }, more = {
		.count = 3, .lap = {
			{ "run", 3 * KF_NS_PER_MS },
			{ "nothing", 1 },
			{ "look", 40 * KF_NS_PER_MS },
		},
	};
	char text[KF_LAPS_TEXT];

	(void)state;
	kf_laps_text(&all, text);
	assert_string_equal(text, "");
	kf_laps_add(&all, &more);
	kf_laps_add(&all, &more);
	kf_laps_text(&all, text);
	assert_string_equal(text, "run 6 ms, look 80 ms");
}

static void test_steps_follow_each_other(void **state)
{
	struct kf_laps laps = { 0 };
	uint64_t start_ns = kf_now_ns(), all_ns;

	(void)state;
	kf_laps_begin(&laps);
	kf_laps_end(&laps, "one");
	kf_laps_end(&laps, "two");
	kf_laps_end(&laps, "one");
	all_ns = kf_now_ns() - start_ns;
	assert_int_equal(laps.count, 2);
	assert_true(laps.lap[0].ns + laps.lap[1].ns <= all_ns);
	assert_true(laps.since_ns >= start_ns + laps.lap[0].ns +
		    laps.lap[1].ns);
}

/* The contract with candidates: these numbers may never change. */
static void test_dtype_numbers_are_frozen(void **state)
{
	static const char *const name[] = {
		[1] = "bool", [2] = "uint8", [3] = "int8", [4] = "int16",
		[5] = "int32", [6] = "int64", [7] = "float16",
		[8] = "bfloat16", [9] = "float32", [10] = "float64",
	};

	(void)state;
	for (size_t i = 1; i < KF_COUNT(name); i++)
		assert_int_equal(kf_dtype_by_name(name[i]), i);
}

int main(void)
{
	static const struct CMUnitTest test[] = {
		cmocka_unit_test(test_clean_leaves_only_valid_utf8),
		cmocka_unit_test(test_clean_is_cut_between_characters),
		cmocka_unit_test(test_cleaning_twice_changes_nothing),
		cmocka_unit_test(test_repair_changes_only_what_is_invalid),
		cmocka_unit_test(test_cut_never_splits_a_sequence),
		cmocka_unit_test(test_unsigned_numbers_use_the_whole_text),
		cmocka_unit_test(test_signed_numbers_use_the_whole_text),
		cmocka_unit_test(test_real_numbers_are_finite_and_whole),
		cmocka_unit_test(test_times_have_the_unit_that_suits_them),
		cmocka_unit_test(test_steps_of_one_name_are_added_up),
		cmocka_unit_test(test_steps_follow_each_other),
		cmocka_unit_test(test_dtype_names_lead_back_to_their_numbers),
		cmocka_unit_test(test_dtype_numbers_are_frozen),
	};

	return cmocka_run_group_tests(test, NULL, NULL);
}
