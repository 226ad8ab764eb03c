/* base_lock.c - locks between processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
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

#define IN_FOLDER(f) cmocka_unit_test_setup_teardown(f, make_folder, \
						     remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FOLDER(test_a_lock_has_one_holder),
		IN_FOLDER(test_a_lock_of_a_dead_process_is_free),
		IN_FOLDER(test_waiting_for_a_lock_ends),
		IN_FOLDER(test_a_lock_without_its_folder_is_a_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
