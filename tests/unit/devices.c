/* devices.c - which of a platform's devices a list of numbers and names means,
 * and their cards with what was measured. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "executor/devices.h"
#include "executor/setup.h"

#define A_19	"aaaaaaaaaaaaaaaaaaa"
#define A_95	A_19 A_19 A_19 A_19 A_19	/* a name has no more */

static void test_what_is_a_list(void **state)
{
	static const struct {
		const char *text;
		enum kf_code code;
		size_t count;
		uint64_t last;		/* number */
		const char *words;	/* of the sentence, or the last name */
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
		{ "-1", KF_E_INPUT, 0, 0, "give numbers" },
		{ "h200", KF_OK, 1, 0, "h200" },
		{ "0,NVIDIA H200,h", KF_OK, 3, 0, "h" },
		{ "h200,200", KF_OK, 2, 200, "" },
		{ "h200,h200", KF_OK, 2, 0, "h200" },	/* two may be meant */
		{ "h200,all", KF_E_INPUT, 0, 0, "give numbers or names" },
		{ A_95, KF_OK, 1, 0, A_95 },
		{ A_95 "a", KF_E_INPUT, 0, 0, "give numbers" },
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

		if (code != rows[i].code ||
		    (code && !strstr(err.text, rows[i].words)))
			fail_msg("row %zu: %s", i, err.text);
		if (code)
			continue;
		assert_int_equal(list.count, rows[i].count);
		if (!list.count)
			continue;
		assert_int_equal(list.word[list.count - 1].number,
				 rows[i].last);
		assert_string_equal(list.word[list.count - 1].name,
				    rows[i].words);
	}
}

/* One whose numbers have a gap: the device between is hidden. */
static enum kf_code find_two(struct kf_device_info *info, size_t max,
			     const char *measure, size_t *count,
			     struct kf_err *err)
{
	static const char *const ids[] = { "dev:1", "dev:3" };

	(void)err;
	assert_true(max >= KF_COUNT(ids));
	for (*count = 0; *count < KF_COUNT(ids); ++*count) {
		struct kf_device_info *its = &info[*count];

		snprintf(its->id, sizeof(its->id), "%s", ids[*count]);
		kf_buf_puts(&its->card, "a card\n");
		if (!measure || strcmp(measure, its->id) != 0)
			continue;
		kf_buf_puts(&its->card, "measured\n");
		its->ceiling.bytes_per_s = 1e9;
	}
	return KF_OK;
}

static enum kf_code find_none(struct kf_device_info *info, size_t max,
			      const char *measure, size_t *count,
			      struct kf_err *err)
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

/* words: of the sentence, where they cannot be found. */
static void look_up(const struct kf_platform *platform, const char *text,
		    const char *ids, const char *words)
{
	struct kf_buf found_ids = { .max = 256 };
	struct kf_device_list list;
	struct kf_devices found;
	struct kf_err err = { 0 };
	enum kf_code code, want = !words[0] ? KF_OK :
		strstr(words, "is among") ? KF_E_INPUT : KF_E_UNAVAIL;

	assert_int_equal(kf_device_list_parse(text, &list, NULL), KF_OK);
	code = kf_devices_find(platform, &list, &found, &err);
	if (code != want || !strstr(err.text, words))
		fail_msg("%s: %s", text, err.text);
	for (size_t i = 0; !code && i < found.count; i++) {
		kf_buf_printf(&found_ids, "%s ", found.info[i].id);
		assert_string_equal(kf_buf_str(&found.info[i].card),
				    "a card\n");
	}
	assert_string_equal(kf_buf_str(&found_ids), ids);
	kf_buf_release(&found_ids);
	kf_devices_release(&found);
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
	for (size_t i = 0; i < KF_COUNT(rows); i++)
		look_up(&platform, rows[i].list, rows[i].ids, rows[i].words);
}

static enum kf_code find_four(struct kf_device_info *info, size_t max,
			      const char *measure, size_t *count,
			      struct kf_err *err)
{
	static const struct { const char *name, *driver, *hardware; } rows[] = {
		{ "NVIDIA H200", "", "GPU-1a2b0000" },
		{ "NVIDIA H200 NVL", "", "GPU-1a2c0000" },
		{ "pthread-EPYC 9654", "Portable", KF_HARDWARE_PROCESSOR },
		{ "\xc3\x9c 7", "", "" },
	};

	(void)measure;
	(void)err;
	assert_true(max >= KF_COUNT(rows));
	for (*count = 0; *count < KF_COUNT(rows); ++*count) {
		struct kf_device_info *its = &info[*count];

		snprintf(its->id, sizeof(its->id), "dev:%zu", *count);
		snprintf(its->name, sizeof(its->name), "%s",
			 rows[*count].name);
		snprintf(its->driver_name, sizeof(its->driver_name), "%s",
			 rows[*count].driver);
		snprintf(its->hardware, sizeof(its->hardware), "%s",
			 rows[*count].hardware);
		kf_buf_puts(&its->card, "a card\n");
	}
	return KF_OK;
}

static void test_a_name_means_one_device(void **state)
{
	static const struct { const char *list, *ids, *words; } rows[] = {
		{ "nvl", "dev:1 ", "" },
		{ "epyc", "dev:2 ", "" },
		{ "portable", "dev:2 ", "" },
		{ "l", "", "(NVIDIA H200 NVL), dev:2 (pthread-EPYC 9654; "
		  "Portable); say more" },
		{ "\xc3\x9c", "dev:3 ", "" },
		{ "NVL,3,pthread", "dev:1 dev:3 dev:2 ", "" },
		/* All of a name goes before a part of another's. */
		{ "NVIDIA H200", "dev:0 ", "" },
		{ "nvidia h200", "dev:0 ", "" },
		{ "GPU-1a2b", "dev:0 ", "" },
		{ "gpu-1A2C0000", "dev:1 ", "" },
		{ "h200", "", "platform dev has several devices that 'h200' "
		  "may be: dev:0 (NVIDIA H200), dev:1 (NVIDIA H200 NVL); say" },
		{ "GPU-1a2", "", "dev:0 (NVIDIA H200), dev:1 (NVIDIA H200 NV" },
		{ "h300", "", "no device here with 'h300' in its name, only "
		  "dev:0 (NVIDIA H200), dev:1 (NVIDIA H200 NVL), dev:2 (pth" },
		{ "GPU-", "", "no device here with 'GPU-' in its name" },
		{ "1a2b", "", "no device here with '1a2b' in its name" },
		{ "processor", "", "no device here with 'processor'" },
		{ "9654", "", "no number 9654 here" },	/* digits alone */
		{ "nvl,1", "", "dev:1 (NVIDIA H200 NVL) is among the devices "
		  "twice" },
		{ "NVIDIA H200,GPU-1a2b", "", "dev:0 (NVIDIA H200) is among" },
	};
	const struct kf_driver driver = { .find = find_four };
	const struct kf_platform platform = a_platform(&driver);

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++)
		look_up(&platform, rows[i].list, rows[i].ids, rows[i].words);
}

static void test_a_platforms_name_means_one_device(void **state)
{
	static const struct { const char *name, *id; enum kf_code code; }
	rows[] = {
		{ "dev", "dev:1", KF_OK },	/* the first that is not hidden */
		{ "dev:3", "dev:3", KF_OK },
		{ "dev:0", "", KF_E_UNAVAIL },
		{ "dev:x", "", KF_E_UNAVAIL },
		{ "dev:", "", KF_E_INPUT },
		{ "dev:-3", "", KF_E_INPUT },
		{ "dev:99999999999999999999", "", KF_E_INPUT },
	};
	const struct kf_driver driver = { .find = find_two };
	const struct kf_platform platform = a_platform(&driver);

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_device_info info;

		assert_int_equal(kf_setup_device(&platform, rows[i].name,
						 &info, NULL),
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
						 &info, &err),
				 KF_E_UNAVAIL);
		assert_non_null(strstr(err.text, "dev has no device here"));
	}
}

static unsigned looked;

static enum kf_code find_all_four(struct kf_device_info *info, size_t max,
				  const char *measure, size_t *count,
				  struct kf_err *err)
{
	looked++;
	return find_four(info, max, measure, count, err);
}

static enum kf_code find_number(int64_t number, struct kf_device_info *info,
				bool *there, struct kf_err *err)
{
	kf_buf_puts(&info->card, "alone\n");
	if (number == 13)
		return kf_fail(err, KF_E_UNAVAIL, "the driver hangs");
	*there = number == KF_DEVICE_FIRST || number == 2;
	snprintf(info->id, sizeof(info->id), "dev:%lld",
		 number == KF_DEVICE_FIRST ? 0 : (long long)number);
	return KF_OK;
}

/* All are looked at only where one does not do. */
static void test_one_is_looked_at_where_that_will_do(void **state)
{
	static const struct { const char *name, *id, *words; unsigned looked; }
	rows[] = {
		{ "dev", "dev:0", "", 0 },
		{ "dev:2", "dev:2", "", 0 },
		{ "dev:3", "dev:3", "", 1 },	/* so it said it was not */
		{ "dev:portable", "dev:2", "", 1 },
		{ "dev:9", "", "no number 9 here", 1 },
		{ "dev:99999999999", "", "no number 99999999999 here", 1 },
		{ "dev:13", "", "the driver hangs", 0 },
	};
	const struct kf_driver driver = { .name = "dev",
		.find = find_all_four, .find_one = find_number };
	const struct kf_platform platform = a_platform(&driver);

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_device_info info;
		struct kf_err err = { 0 };
		enum kf_code code;

		looked = 0;
		code = kf_setup_device(&platform, rows[i].name, &info, &err);
		assert_string_equal(info.id, code ? "" : rows[i].id);
		if (!code != !rows[i].words[0] ||
		    !strstr(err.text, rows[i].words) ||
		    looked != rows[i].looked)
			fail_msg("row %zu: %u: %s", i, looked, err.text);
		kf_device_info_release(&info);
	}
}

/* Only the one that is asked for, and only while nobody else has it. */
static void test_a_device_is_measured_in_its_turn(void **state)
{
	const struct kf_driver driver = { .find = find_two };
	const struct kf_platform platform = a_platform(&driver);
	char path[] = "/tmp/kforge-test-XXXXXX";
	const int file = mkstemp(path);
	const struct kf_device_wait wait = {
		.lock_path = path, .device_id = "dev:3", .timeout_ns = 1,
		.notice_ns = 1,
	};
	struct kf_device_info info;
	char *gate = kf_format("%s.next", path);
	struct kf_lock held;

	(void)state;
	assert_true(file >= 0);
	close(file);
	assert_int_equal(kf_setup_device(&platform, "dev:3", &info, NULL),
			 KF_OK);
	assert_int_equal(kf_lock_try(path, &held, NULL), KF_OK);
	assert_int_equal(kf_device_measure(&platform, &wait, &info, NULL),
			 KF_E_TIMEOUT);
	assert_string_equal(kf_buf_str(&info.card), "a card\n");
	kf_lock_release(&held);
	assert_int_equal(kf_device_measure(&platform, &wait, &info, NULL),
			 KF_OK);
	assert_string_equal(kf_buf_str(&info.card), "a card\nmeasured\n");
	assert_true(info.ceiling.bytes_per_s > 0);
	assert_int_equal(kf_lock_try(path, &held, NULL), KF_OK);
	assert_true(held.held);		/* nobody has kept it */
	kf_lock_release(&held);
	kf_device_info_release(&info);
	unlink(gate);
	unlink(path);
	free(gate);
}

/* Values of who has a device of its own disturb who times there. */
static void test_where_programs_compute(void **state)
{
	static const struct {
		const char *driver;
		bool in_process, on_device;
	} rows[] = {
		{ "host", false, false }, { "null", false, false },
		{ "opencl", true, false }, { "opencl", false, true },
		{ "cuda", false, true }, { "cudafree", false, true },
		{ "pytorch", false, false }, { "pytorchcuda", false, true },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		const struct kf_driver *driver =
			kf_driver_by_name(rows[i].driver);

		assert_non_null(driver);
		assert_int_equal(kf_driver_on_device(driver,
						     rows[i].in_process),
				 rows[i].on_device);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_a_list),
		cmocka_unit_test(test_numbers_are_the_devices_own),
		cmocka_unit_test(test_a_name_means_one_device),
		cmocka_unit_test(test_a_platforms_name_means_one_device),
		cmocka_unit_test(test_where_none_is_there_that_is_said),
		cmocka_unit_test(test_one_is_looked_at_where_that_will_do),
		cmocka_unit_test(test_a_device_is_measured_in_its_turn),
		cmocka_unit_test(test_where_programs_compute),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
