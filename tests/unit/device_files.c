/* device_files.c - the files by which processes agree about a device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "executor/device_files.h"

struct world { char folder[64]; char *locks, *cache; };

static int make_world(void **state)
{
	struct world *w = kf_alloc(sizeof(*w));

	*state = w;
	snprintf(w->folder, sizeof(w->folder), "/tmp/kforge-test-XXXXXX");
	if (!mkdtemp(w->folder))
		return -1;
	w->locks = kf_path_join(w->folder, "run/locks");
	w->cache = kf_path_join(w->folder, "cache");
	return setenv("KFORGE_DEVICE_LOCKS", w->locks, 1);
}

static int remove_world(void **state)
{
	struct world *w = *state;
	enum kf_code code = kf_remove_tree(w->folder, NULL);

	free(w->locks);
	free(w->cache);
	free(w);
	return unsetenv("KFORGE_DEVICE_LOCKS") || code;
}

static struct kf_device_info device(const char *id, const char *hardware)
{
	struct kf_device_info info = { .units = 1 };

	snprintf(info.id, sizeof(info.id), "%s", id);
	snprintf(info.hardware, sizeof(info.hardware), "%s", hardware);
	return info;
}

static char *lock_path(const struct world *w, const char *id,
		       const char *hardware, const char *cache)
{
	struct kf_device_info info = device(id, hardware);
	struct kf_err err = { 0 };
	char *path = NULL;

	if (kf_device_lock_path(&info, cache ? cache : w->cache, NULL, &path,
				&err))
		fail_msg("%s", err.text);
	return path;
}

static unsigned mode_of(const char *path)
{
	struct stat about;

	assert_int_equal(lstat(path, &about), 0);
	return about.st_mode & 07777;
}

/* Whatever the umask, the cache and the driver's number for it. */
static void test_a_lock_is_the_hardwares_and_everybodys(void **state)
{
	const struct world *w = *state;
	mode_t before = umask(077);
	struct kf_lock lock;
	char *first = lock_path(w, "cuda:1", "GPU-a1", NULL);
	char *second = lock_path(w, "opencl:0", "GPU-a1", "/elsewhere");
	char *other = lock_path(w, "cuda:0", "GPU-a0", NULL);
	char *unnamed = lock_path(w, "null:0", "", NULL);

	assert_int_equal(kf_lock_try(first, &lock, NULL), KF_OK);
	assert_true(lock.held);
	kf_lock_release(&lock);
	umask(before);
	assert_string_equal(first, second);
	assert_string_not_equal(first, other);
	assert_non_null(strstr(unnamed, "/run/locks/null-0.lock"));
	assert_int_equal(mode_of(w->locks), 01777);
	assert_int_equal(mode_of(first), 0666);
	assert_false(kf_path_exists("/elsewhere"));
	free(first);
	free(second);
	free(other);
	free(unnamed);
}

static void test_what_others_have_put_there_is_refused(void **state)
{
	const struct world *w = *state;
	char *named = kf_path_join(w->locks, "GPU-a1.lock");
	struct kf_device_info info = device("cuda:1", "GPU-a1");
	char *path = NULL;

	assert_int_equal(kf_mkdir_p(w->locks, NULL), KF_OK);
	for (unsigned i = 0; i < 3; i++) {
		struct kf_err err = { 0 };

		if (i == 0)
			assert_int_equal(symlink("/etc/passwd", named), 0);
		else if (i == 1)
			assert_int_equal(mkfifo(named, 0666), 0);
		else
			assert_int_equal(mkdir(named, 0777), 0);
		assert_int_equal(kf_device_lock_path(&info, w->cache, NULL,
						     &path, &err), KF_E_IO);
		assert_non_null(strstr(err.text, "KFORGE_DEVICE_LOCKS: "));
		assert_non_null(strstr(err.text, "no file that all may lock"));
		assert_int_equal(remove(named), 0);
	}
	assert_int_equal(rmdir(w->locks), 0);
	assert_int_equal(kf_file_write(w->locks, "x", 1, NULL), KF_OK);
	assert_int_equal(kf_device_lock_path(&info, w->cache, NULL, &path,
					     NULL), KF_E_IO);
	assert_null(path);
	free(named);
}

static void test_a_quarantine_is_the_caches_and_the_machines(void **state)
{
	const struct world *w = *state;
	char *path = NULL, *folder = kf_path_join(w->cache, "devices");

	assert_int_equal(kf_device_quarantine_path(w->cache, "cuda:1", &path,
						   NULL), KF_OK);
	assert_memory_equal(path, folder, strlen(folder));
	assert_non_null(strstr(path, "-cuda-1.quarantine"));
	assert_true(kf_path_is_dir(folder));
	free(path);
	free(folder);
}

#define CASE(name) \
	cmocka_unit_test_setup_teardown(test_##name, make_world, remove_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_lock_is_the_hardwares_and_everybodys),
		CASE(what_others_have_put_there_is_refused),
		CASE(a_quarantine_is_the_caches_and_the_machines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
