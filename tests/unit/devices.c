/* devices.c - which of a platform's devices a list of numbers means. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "executor/devices.h"
#include "executor/setup.h"

static void test_what_is_a_list(void **state)
{
	static const struct {
		const char *text;
		enum kf_code code;
		size_t count;
		uint64_t last;
		const char *words;
	} rows[] = {
		{ "all", KF_OK, 0, 0, "" },
		{ "3", KF_OK, 1, 3, "" },
		{ "0,2,10", KF_OK, 3, 10, "" },
		{ "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15", KF_OK, 16, 15, "" },
		{ "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16", KF_E_LIMIT, 0,
		  0, "16 at most" },
		{ "", KF_E_INPUT, 0, 0, "give numbers" },
		{ "1,", KF_E_INPUT, 0, 0, "give numbers" },
		{ ",1", KF_E_INPUT, 0, 0, "give numbers" },
		{ "1, 2", KF_E_INPUT, 0, 0, "give numbers" },
		{ "cuda:1", KF_E_INPUT, 0, 0, "give numbers" },
		{ "-1", KF_E_INPUT, 0, 0, "give numbers" },
		{ "all,1", KF_E_INPUT, 0, 0, "give numbers" },
		{ "99999999999999999999", KF_E_INPUT, 0, 0, "give numbers" },
		{ "2,1,2", KF_E_INPUT, 0, 0, "number 2 is there twice" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_device_list list;
		struct kf_err err = { 0 };
		enum kf_code code = kf_device_list_parse(rows[i].text, &list,
							 &err);

		if (code != rows[i].code || !strstr(err.text, rows[i].words))
			fail_msg("row %zu: %s", i, err.text);
		if (code)
			continue;
		assert_int_equal(list.count, rows[i].count);
		if (list.count)
			assert_int_equal(list.number[list.count - 1],
					 rows[i].last);
	}
}

/* One whose numbers have a gap: the device between is hidden. */
static enum kf_code find_two(struct kf_device_info *info, size_t max,
			     bool measure, size_t *count, struct kf_err *err)
{
	static const char *const ids[] = { "dev:1", "dev:3" };

	(void)measure;
	(void)err;
	assert_true(max >= KF_COUNT(ids));
	for (*count = 0; *count < KF_COUNT(ids); ++*count) {
		struct kf_device_info *its = &info[*count];

		snprintf(its->id, sizeof(its->id), "%s", ids[*count]);
		kf_buf_puts(&its->card, "a card\n");
	}
	return KF_OK;
}

static enum kf_code find_none(struct kf_device_info *info, size_t max,
			      bool measure, size_t *count, struct kf_err *err)
{
	(void)info;
	(void)max;
	(void)measure;
	(void)count;
	(void)err;
	return KF_OK;
}

static struct kf_platform a_platform(const struct kf_driver *driver)
{
	static char name[] = "dev";

	return (struct kf_platform) { .name = name, .driver = driver };
}

static void test_numbers_are_the_devices_own(void **state)
{
	static const struct { const char *list, *ids, *words; } rows[] = {
		{ "all", "dev:1 dev:3 ", "" },
		{ "3,1", "dev:3 dev:1 ", "" },
		{ "1", "dev:1 ", "" },
		{ "0", "", "no number 0 here, only dev:1, dev:3" },
		{ "1,2", "", "no number 2 here" },
	};
	const struct kf_driver driver = { .find = find_two };
	const struct kf_platform platform = a_platform(&driver);

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_buf ids = { .max = 256 };
		struct kf_device_list list;
		struct kf_devices found;
		struct kf_err err = { 0 };
		enum kf_code code;

		assert_int_equal(kf_device_list_parse(rows[i].list, &list,
						      NULL), KF_OK);
		code = kf_devices_find(&platform, &list, false, &found, &err);
		if (code != (rows[i].words[0] ? KF_E_UNAVAIL : KF_OK) ||
		    !strstr(err.text, rows[i].words))
			fail_msg("row %zu: %s", i, err.text);
		for (size_t j = 0; !code && j < found.count; j++) {
			kf_buf_printf(&ids, "%s ", found.info[j].id);
			assert_string_equal(kf_buf_str(&found.info[j].card),
					    "a card\n");
		}
		assert_string_equal(kf_buf_str(&ids), rows[i].ids);
		kf_buf_release(&ids);
		kf_devices_release(&found);
	}
}

static void test_a_platforms_name_means_one_device(void **state)
{
	static const struct { const char *name, *id; enum kf_code code; }
	rows[] = {
		{ "dev", "dev:1", KF_OK },	/* the first that is not hidden */
		{ "dev:3", "dev:3", KF_OK },
		{ "dev:0", "", KF_E_UNAVAIL },
		{ "dev:x", "", KF_E_INPUT },
	};
	const struct kf_driver driver = { .find = find_two };
	const struct kf_platform platform = a_platform(&driver);

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_device_info info;

		assert_int_equal(kf_setup_device(&platform, rows[i].name,
						 false, &info, NULL),
				 rows[i].code);
		assert_string_equal(info.id, rows[i].id);
		kf_device_info_release(&info);
	}
}

static void test_where_none_is_there_that_is_said(void **state)
{
	const struct kf_driver driver = { .find = find_none };
	const struct kf_platform platform = a_platform(&driver);
	struct kf_device_info info;
	struct kf_err err = { 0 };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(kf_setup_device(&platform, i ? "dev:1" : "dev",
						 false, &info, &err),
				 KF_E_UNAVAIL);
		assert_non_null(strstr(err.text, "dev has no device here"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_a_list),
		cmocka_unit_test(test_numbers_are_the_devices_own),
		cmocka_unit_test(test_a_platforms_name_means_one_device),
		cmocka_unit_test(test_where_none_is_there_that_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
