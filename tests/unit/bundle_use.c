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

static char folder[64];

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
	static const char bytes[BYTES];
	char *path = at(name), *file = kf_path_join(path, "data");

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
	close(kf_bundle_use(entry));
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
	add("aa", 300);
	add("bb", 200);
	add("cc", 400);
	assert_int_equal(kf_bundle_trim_to(folder, 10 * BYTES), 0);
	assert_int_equal(kf_bundle_trim_to(folder, 5 * BYTES / 2), 1);
	assert_true(is_there("aa") && is_there("bb") && !is_there("cc"));
	assert_int_equal(kf_bundle_trim_to(folder, 0), 2);
	assert_false(is_there("aa") || is_there("bb"));
}

static void test_using_one_makes_it_young(void **state)
{
	char *entry = at("aa");

	(void)state;
	add("aa", 300);
	add("bb", 200);
	close(kf_bundle_use(entry));
	assert_int_equal(kf_bundle_trim_to(folder, 3 * BYTES / 2), 1);
	assert_true(is_there("aa") && !is_there("bb"));
	free(entry);
}

static void test_what_is_in_use_stays(void **state)
{
	char *entry = at("aa");
	int fd;

	(void)state;
	add("aa", 300);
	add("bb", 200);
	fd = kf_bundle_use(entry);
	assert_true(fd >= 0);
	assert_int_equal(kf_bundle_trim_to(folder, 0), 1);
	assert_true(is_there("aa") && !is_there("bb"));
	close(fd);
	assert_int_equal(kf_bundle_trim_to(folder, 0), 1);
	assert_false(is_there("aa"));
	free(entry);
}

/* What a killed process has half removed goes; what is not a bundle stays. */
static void test_only_bundles_and_what_is_left_of_them_go(void **state)
{
	(void)state;
	add_folder("aa.gone");
	add_folder("aa.making");
	add_folder("notes");
	assert_int_equal(kf_bundle_trim_to(folder, 0), 0);
	assert_false(is_there("aa.gone"));
	assert_true(is_there("aa.making") && is_there("notes"));
	assert_int_equal(kf_bundle_trim_to("/nowhere", 0), 0);
}

/* None is in use, and there is more room than they take. */
static void test_where_there_is_room_nothing_goes(void **state)
{
	(void)state;
	add("aa", 300);
	kf_bundle_trim(folder, NULL);
	assert_true(is_there("aa"));
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
			test_where_there_is_room_nothing_goes, setup,
			teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
