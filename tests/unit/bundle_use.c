/* bundle_use.c - which bundles are removed when the disk gets full. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "problem/bundle_use.h"

#define BYTES 100000		/* of a bundle, a little less than it takes */

#define EIGHT(x) x x x x x x x x
#define AA EIGHT("aaaa")
#define BB EIGHT("bb01")
#define CC EIGHT("cccc")

static char folder[64];

static unsigned trim_to(uint64_t bytes)
{
	uint64_t removed;
	unsigned count = kf_bundle_trim_to(folder, bytes, UINT64_MAX,
					   &removed);

	assert_true(removed >= count * (uint64_t)BYTES);
	return count;
}

static char *at(const char *name)
{
	return kf_path_join(folder, name);
}

static bool is_there(const char *name)
{
	char *path = at(name);
	bool there = kf_path_exists(path);

	free(path);
	return there;
}

static void add_folder(const char *name)
{
	static char bytes[BYTES];
	char *path = at(name), *file = kf_path_join(path, "data");

	kf_random_bytes(bytes, sizeof(bytes));
	assert_int_equal(kf_mkdir_p(path, NULL), KF_OK);
	assert_int_equal(kf_file_write(file, bytes, sizeof(bytes), NULL),
			 KF_OK);
	free(file);
	free(path);
}

/* A bundle that was used so many seconds ago. */
static void add(const char *key, long ago_s)
{
	struct timespec when[2] = { { .tv_sec = time(NULL) - ago_s } };
	char *entry = at(key), *used = kf_format("%s.used", entry);

	when[1] = when[0];
	add_folder(key);
	close(kf_bundle_use(entry, NULL));
	assert_int_equal(utimensat(AT_FDCWD, used, when, 0), 0);
	free(used);
	free(entry);
}

static int setup(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/kforge-bundles-XXXXXX");
	return mkdtemp(folder) == NULL;
}

static int teardown(void **state)
{
	(void)state;
	return kf_remove_tree(folder, NULL) != KF_OK;
}

static void test_the_one_used_longest_ago_goes_first(void **state)
{
	(void)state;
	add(AA, 300);
	add(BB, 200);
	add(CC, 400);
	assert_int_equal(trim_to(10 * BYTES), 0);
	assert_int_equal(trim_to(5 * BYTES / 2), 1);
	assert_true(is_there(AA) && is_there(BB) && !is_there(CC));
	assert_int_equal(trim_to(0), 2);
	assert_false(is_there(AA) || is_there(BB));
}

static void test_using_one_makes_it_young(void **state)
{
	char *entry = at(AA);

	(void)state;
	add(AA, 300);
	add(BB, 200);
	close(kf_bundle_use(entry, NULL));
	assert_int_equal(trim_to(3 * BYTES / 2), 1);
	assert_true(is_there(AA) && !is_there(BB));
	free(entry);
}

static void test_what_is_in_use_stays(void **state)
{
	char *entry = at(AA);
	int fd;

	(void)state;
	add(AA, 300);
	add(BB, 200);
	fd = kf_bundle_use(entry, NULL);
	assert_true(fd >= 0);
	assert_int_equal(trim_to(0), 1);
	assert_true(is_there(AA) && !is_there(BB));
	close(fd);
	assert_int_equal(trim_to(0), 1);
	assert_false(is_there(AA));
	free(entry);
}

/* What a killed process has half removed goes; what is not a bundle stays. */
static void test_only_bundles_and_what_is_left_of_them_go(void **state)
{
	(void)state;
	add_folder(AA ".gone");
	add_folder(AA ".making");
	add_folder("notes.gone");
	add_folder("2024");
	add_folder(EIGHT("AAAA"));
	assert_int_equal(trim_to(0), 0);
	assert_false(is_there(AA ".gone"));
	assert_true(is_there(AA ".making") && is_there("notes.gone") &&
		    is_there("2024") && is_there(EIGHT("AAAA")));
}

/* Each that goes leaves more free. */
static void test_they_take_no_more_than_they_leave_free(void **state)
{
	uint64_t removed;

	(void)state;
	add(AA, 300);
	add(BB, 200);
	add(CC, 400);
	assert_int_equal(kf_bundle_trim_to(folder, UINT64_MAX, 3 * BYTES / 2,
					   &removed), 1);
	assert_true(is_there(AA) && is_there(BB) && !is_there(CC));
}

/* None is in use, and there is more room than they take. */
static void test_where_there_is_room_nothing_goes(void **state)
{
	(void)state;
	add(AA, 300);
	kf_bundle_trim(folder, NULL);
	assert_true(is_there(AA));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_the_one_used_longest_ago_goes_first, setup,
			teardown),
		cmocka_unit_test_setup_teardown(test_using_one_makes_it_young,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_is_in_use_stays,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_only_bundles_and_what_is_left_of_them_go, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_they_take_no_more_than_they_leave_free, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_where_there_is_room_nothing_goes, setup,
			teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
