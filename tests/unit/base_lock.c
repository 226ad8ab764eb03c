/* base_lock.c - locks between processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"

/* A fresh folder for each test, removed afterwards. */
static int make_folder(void **state)
{
	char *dir = kf_strdup("/tmp/kforge-test-XXXXXX");

	*state = dir;
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_folder(void **state)
{
	enum kf_code code = kf_remove_tree(*state, NULL);

	free(*state);
	return (int)code;
}

static void test_a_lock_has_one_holder(void **state)
{
	char *path = kf_path_join(*state, "lock");
	struct kf_lock first, second;

	assert_int_equal(kf_lock_try(path, &first, NULL), KF_OK);
	assert_true(first.held);
	assert_int_equal(kf_lock_try(path, &second, NULL), KF_OK);
	assert_false(second.held);
	kf_lock_release(&first);
	assert_int_equal(kf_lock_try(path, &second, NULL), KF_OK);
	assert_true(second.held);
	kf_lock_release(&second);
	free(path);
}

static void hold_until_killed(const char *path, int tell)
{
	struct kf_lock lock;
	char held = kf_lock_try(path, &lock, NULL) == KF_OK && lock.held;

	if (write(tell, &held, 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static void test_a_lock_of_a_dead_process_is_free(void **state)
{
	char *path = kf_path_join(*state, "lock");
	int told[2], status;
	struct kf_lock lock;
	char held = 0;
	pid_t pid;

	assert_int_equal(pipe(told), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		hold_until_killed(path, told[1]);
	assert_int_equal(read(told[0], &held, 1), 1);
	assert_int_equal(held, 1);
	assert_int_equal(kf_lock_try(path, &lock, NULL), KF_OK);
	assert_false(lock.held);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(kf_lock_wait(path, 10 * KF_NS_PER_S, NULL, &lock,
				      NULL), KF_OK);
	assert_true(lock.held);
	kf_lock_release(&lock);
	close(told[0]);
	close(told[1]);
	free(path);
}

static void test_waiting_for_a_lock_ends(void **state)
{
	char *path = kf_path_join(*state, "lock");
	const volatile int cancel = 1;
	struct kf_lock held, lock;

	assert_int_equal(kf_lock_try(path, &held, NULL), KF_OK);
	assert_int_equal(kf_lock_wait(path, 1, NULL, &lock, NULL),
			 KF_E_TIMEOUT);
	assert_false(lock.held);
	assert_int_equal(kf_lock_wait(path, 10 * KF_NS_PER_S, &cancel, &lock,
				      NULL), KF_E_CANCELED);
	assert_false(lock.held);
	kf_lock_release(&held);
	free(path);
}

static void test_a_lock_without_its_folder_is_a_sentence(void **state)
{
	char *path = kf_path_join(*state, "none/lock");
	struct kf_err err = { 0 };
	struct kf_lock lock;

	assert_int_equal(kf_lock_try(path, &lock, &err), KF_E_IO);
	assert_non_null(strstr(err.text, path));
	assert_false(lock.held);
	kf_lock_release(&lock);
	free(path);
}

/* Who waits for it does not hold a file that has lost its name. */
static void test_a_lock_that_was_removed_is_no_lock(void **state)
{
	char *path = kf_path_join(*state, "lock"), byte = 0;
	struct kf_lock first, second, lock;
	struct pollfd p = { .events = POLLIN };
	int told[2], status;
	pid_t pid;

	assert_int_equal(pipe(told), 0);
	assert_int_equal(kf_lock_try(path, &first, NULL), KF_OK);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(first.fd);
		byte = kf_lock_wait(path, 60 * KF_NS_PER_S, NULL, &lock,
				    NULL) == KF_OK;
		_exit(write(told[1], &byte, 1) != 1);
	}
	kf_sleep_ns(50 * KF_NS_PER_MS);		/* it has it open by now */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(kf_lock_try(path, &second, NULL), KF_OK);
	assert_true(second.held);
	kf_lock_release(&first);
	p.fd = told[0];
	assert_int_equal(poll(&p, 1, 100), 0);
	kf_lock_release(&second);
	assert_int_equal(read(told[0], &byte, 1), 1);
	assert_int_equal(byte, 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(told[0]);
	close(told[1]);
	free(path);
}

static void test_what_is_no_file_is_no_lock(void **state)
{
	char *path = kf_path_join(*state, "lock");
	char holder[32];

	for (unsigned i = 0; i < 3; i++) {
		struct kf_err err = { 0 };
		struct kf_lock lock;

		assert_int_equal(i == 0 ? mkfifo(path, 0666) :
				 i == 1 ? symlink("/etc/passwd", path) :
				 mkdir(path, 0777), 0);
		assert_int_equal(kf_lock_try(path, &lock, &err), KF_E_IO);
		assert_non_null(strstr(err.text, path));
		assert_false(lock.open);
		kf_lock_holder(path, holder, sizeof(holder));
		assert_string_equal(holder, "another process");
		assert_int_equal(remove(path), 0);
	}
	free(path);
}

/* Somebody may have linked it there to see it cut. */
static void test_a_file_of_two_names_is_not_written_to(void **state)
{
	char *path = kf_path_join(*state, "lock");
	char *other = kf_path_join(*state, "other"), holder[32];
	struct kf_lock lock;

	assert_int_equal(kf_file_write(other, "precious", 8, NULL), KF_OK);
	assert_int_equal(link(other, path), 0);
	assert_int_equal(kf_lock_try(path, &lock, NULL), KF_OK);
	assert_true(lock.held);
	kf_lock_release(&lock);
	kf_lock_holder(other, holder, sizeof(holder));
	assert_string_equal(holder, "precious");
	free(path);
	free(other);
}

/* Where anybody may make files, whatever the umask; else as the umask says. */
static void test_in_a_folder_for_all_a_lock_is_for_all(void **state)
{
	char *path = kf_path_join(*state, "lock");
	mode_t before = umask(077);
	struct stat about;

	for (unsigned i = 0; i < 2; i++) {
		struct kf_lock lock;

		assert_int_equal(chmod(*state, i ? 01777 : 0700), 0);
		assert_int_equal(kf_lock_try(path, &lock, NULL), KF_OK);
		assert_true(lock.held);
		kf_lock_release(&lock);
		assert_int_equal(stat(path, &about), 0);
		assert_int_equal(about.st_mode & 07777, i ? 0666 : 0600);
		assert_int_equal(unlink(path), 0);
	}
	umask(before);
	assert_int_equal(rmdir(*state), 0);	/* nothing else is left */
	assert_int_equal(mkdir(*state, 0700), 0);
	free(path);
}

#define IN_FOLDER(f) cmocka_unit_test_setup_teardown(f, make_folder, \
						     remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FOLDER(test_a_lock_has_one_holder),
		IN_FOLDER(test_a_lock_of_a_dead_process_is_free),
		IN_FOLDER(test_waiting_for_a_lock_ends),
		IN_FOLDER(test_a_lock_without_its_folder_is_a_sentence),
		IN_FOLDER(test_a_lock_that_was_removed_is_no_lock),
		IN_FOLDER(test_what_is_no_file_is_no_lock),
		IN_FOLDER(test_a_file_of_two_names_is_not_written_to),
		IN_FOLDER(test_in_a_folder_for_all_a_lock_is_for_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
