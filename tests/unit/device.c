/* device.c - who times on a device, and who waits for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <unistd.h>

#include "evaluate/device.h"

struct lines { unsigned count; char last[256]; };

static void take_line(void *arg, enum kf_log_level level, const char *line)
{
	struct lines *lines = arg;

	assert_int_equal(level, KF_LOG_INFO);
	lines->count++;
	snprintf(lines->last, sizeof(lines->last), "%s", line);
}

struct world {
	char dir[32];
	char *path, *us;	/* of the lock; how its holder is called */
	struct lines lines;
	struct kf_log log;
	struct kf_device_wait wait;
};

static int set_up(void **state)
{
	struct world *w = kf_alloc(sizeof(*w));
	char host[128] = "";

	snprintf(w->dir, sizeof(w->dir), "/tmp/kforge-test-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
	w->path = kf_path_join(w->dir, "lock");
	w->us = kf_format("process %d on %s", (int)getpid(), host);
	w->log = (struct kf_log) { .level = KF_LOG_INFO, .write = take_line,
				   .arg = &w->lines };
	w->wait = (struct kf_device_wait) {
		.lock_path = w->path, .device_id = "cpu:0", .log = &w->log,
		.timeout_ns = 40 * KF_NS_PER_MS,
		.notice_ns = 10 * KF_NS_PER_MS,
	};
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;
	enum kf_code code = kf_remove_tree(w->dir, NULL);

	free(w->path);
	free(w->us);
	free(w);
	return (int)code;
}

static void test_a_free_device_is_taken_without_a_word(void **state)
{
	struct world *w = *state;
	struct kf_lock lock;
	uint64_t waited_ns;

	assert_int_equal(kf_device_lock(&w->wait, &lock, &waited_ns, NULL),
			 KF_OK);
	assert_true(lock.held);
	assert_int_equal(waited_ns, 0);
	assert_int_equal(w->lines.count, 0);
	kf_lock_release(&lock);
}

static void test_a_wait_is_told_again_and_again_and_ends(void **state)
{
	struct world *w = *state;
	struct kf_lock held, lock;
	struct kf_err err = { 0 };
	uint64_t waited_ns;

	assert_int_equal(kf_lock_try(w->path, &held, NULL), KF_OK);
	assert_int_equal(kf_device_lock(&w->wait, &lock, &waited_ns, &err),
			 KF_E_TIMEOUT);
	assert_false(lock.held);
	assert_non_null(strstr(err.text, w->us));
	assert_non_null(strstr(err.text, "cpu:0"));
	assert_true(waited_ns >= w->wait.timeout_ns);
	assert_true(w->lines.count >= 2);	/* at once, and later */
	assert_non_null(strstr(w->lines.last, w->us));
	kf_lock_release(&held);
}

static void test_one_who_is_stopped_waits_no_longer(void **state)
{
	static const volatile int cancel = 1;
	struct world *w = *state;
	struct kf_lock held, lock;
	struct kf_err err = { 0 };
	uint64_t waited_ns;

	w->wait.cancel = &cancel;
	assert_int_equal(kf_lock_try(w->path, &held, NULL), KF_OK);
	assert_int_equal(kf_device_lock(&w->wait, &lock, &waited_ns, &err),
			 KF_E_CANCELED);
	assert_int_equal(err.code, KF_E_CANCELED);
	assert_int_equal(w->lines.count, 1);	/* at once */
	kf_lock_release(&held);
}

static void test_who_computes_shares_and_timing_waits_for_all(void **state)
{
	struct world *w = *state;
	struct kf_lock one, two, timing;
	uint64_t waited_ns;

	assert_int_equal(kf_device_share(&w->wait, &one, &waited_ns, NULL),
			 KF_OK);
	assert_int_equal(kf_device_share(&w->wait, &two, &waited_ns, NULL),
			 KF_OK);
	assert_true(one.held && two.held);
	kf_lock_release(&one);
	assert_int_equal(kf_device_lock(&w->wait, &timing, &waited_ns, NULL),
			 KF_E_TIMEOUT);
	kf_lock_release(&two);
	assert_int_equal(kf_device_lock(&w->wait, &timing, &waited_ns, NULL),
			 KF_OK);
	assert_int_equal(kf_device_share(&w->wait, &one, &waited_ns, NULL),
			 KF_E_TIMEOUT);
	kf_lock_release(&timing);
}

static void test_who_waits_to_time_goes_first(void **state)
{
	struct world *w = *state;
	char *path = kf_format("%s.next", w->path);
	struct kf_lock gate, one;
	struct kf_err err = { 0 };
	uint64_t waited_ns;

	assert_int_equal(kf_lock_try(path, &gate, NULL), KF_OK);
	assert_int_equal(kf_device_share(&w->wait, &one, &waited_ns, &err),
			 KF_E_TIMEOUT);
	assert_false(one.held);
	assert_non_null(strstr(err.text, "cpu:0"));
	kf_lock_release(&gate);
	assert_int_equal(kf_device_share(&w->wait, &one, &waited_ns, NULL),
			 KF_OK);
	kf_lock_release(&one);
	free(path);
}

static void test_a_lock_that_nobody_signed_has_some_holder(void **state)
{
	struct world *w = *state;
	char holder[64];

	kf_lock_holder(w->path, holder, sizeof(holder));
	assert_string_equal(holder, "another process");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_free_device_is_taken_without_a_word),
		TEST(test_a_wait_is_told_again_and_again_and_ends),
		TEST(test_one_who_is_stopped_waits_no_longer),
		TEST(test_who_computes_shares_and_timing_waits_for_all),
		TEST(test_who_waits_to_time_goes_first),
		TEST(test_a_lock_that_nobody_signed_has_some_holder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
