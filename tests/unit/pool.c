/* pool.c - whose turn it is in a pool of processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "executor/pool.h"
#include "sandbox/usage.h"

#define ANSWER_MS 60000
#define WAIT_NS (60 * KF_NS_PER_S)

enum { RED = 1, BLUE = 2, GREEN = 3 };

/* Each worker answers with its own number. */
static void work(void *arg, const char *item, size_t len,
		 struct kf_buf *answer)
{
	char *number = kf_format("%ld", (long)getpid());

	kf_buf_add(answer, number, strlen(number));
	free(number);
	(void)arg;
	(void)item;
	(void)len;
}

static struct kf_pool *new_pool(unsigned count)
{
	struct kf_pool *pool;

	assert_int_equal(kf_pool_new(&(struct kf_pool_spec) {
		.count = count, .work = work,
	}, &pool, NULL), KF_OK);
	return pool;
}

static void give(struct kf_pool *pool, uint64_t subject)
{
	assert_int_equal(kf_pool_give(pool, &(struct kf_pool_item) {
		.tag = subject, .subject = subject, .text = "x", .len = 1,
	}, NULL), KF_OK);
}

/* The process that answered. */
static long take(struct kf_pool *pool)
{
	struct kf_pool_answer answer;
	struct pollfd p[KF_POOL_MAX];

	assert_true(poll(p, (nfds_t)kf_pool_poll(pool, p), ANSWER_MS) > 0);
	assert_true(kf_pool_answer(pool, &answer));
	assert_non_null(answer.text);
	return strtol(answer.text, NULL, 10);
}

static long do_one(struct kf_pool *pool, uint64_t subject)
{
	give(pool, subject);
	return take(pool);
}

static void test_a_subject_stays_with_its_worker(void **state)
{
	struct kf_pool *pool = new_pool(2);
	long first, second;

	(void)state;
	give(pool, RED);
	give(pool, BLUE);
	first = take(pool);
	second = take(pool);
	assert_int_not_equal(first, second);
	assert_true(kf_pool_waits_for(pool, RED));
	for (unsigned i = 0; i < 3; i++) {
		long red = do_one(pool, RED), blue = do_one(pool, BLUE);

		assert_int_not_equal(red, blue);
		assert_true(red == first || red == second);
		assert_true(blue == first || blue == second);
	}
	kf_pool_free(pool);
}

static void test_who_is_busy_is_known_but_does_not_wait(void **state)
{
	struct kf_pool *pool = new_pool(2);

	(void)state;
	give(pool, RED);
	assert_true(kf_pool_knows(pool, RED));
	assert_false(kf_pool_waits_for(pool, RED));
	assert_false(kf_pool_knows(pool, BLUE));
	take(pool);
	assert_true(kf_pool_waits_for(pool, RED));
	kf_pool_free(pool);
}

static void test_another_subject_takes_its_place(void **state)
{
	struct kf_pool *pool = new_pool(1);

	(void)state;
	do_one(pool, RED);
	do_one(pool, GREEN);
	assert_false(kf_pool_knows(pool, RED));
	assert_true(kf_pool_waits_for(pool, GREEN));
	kf_pool_free(pool);
}

static void test_no_subject_is_not_one(void **state)
{
	struct kf_pool *pool = new_pool(1);

	(void)state;
	do_one(pool, 0);
	assert_false(kf_pool_knows(pool, 0));
	assert_false(kf_pool_waits_for(pool, 0));
	kf_pool_free(pool);
}

/* What it does to a process while a sandbox is made: the inner one waits, the
 * outer one dies with who started it. */
static const char like_bwrap[] =
	"#!/bin/sh\n"
	"exec 2>/dev/null\n"
	"if [ \"$1\" ]; then while :; do sleep 0.05; done; fi\n"
	"\"$0\" inner &\n"
	"echo $! > \"$0.pid\"\n"
	"wait\n";

/* It has told its inner one's number. */
static bool has_text(const char *path)
{
	char *file = kf_format("%s.pid", path);
	struct stat st = { 0 };
	bool has = stat(file, &st) == 0 && st.st_size > 0;

	free(file);
	return has;
}

static void be_killed(void *arg, const char *item, size_t len,
		      struct kf_buf *answer)
{
	const char *path = arg;

	(void)item;
	(void)len;
	(void)answer;
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl(path, path, (char *)NULL);
		_exit(1);
	}
	while (kf_usage_processes(getpid()) < 4 || !has_text(path))
		kf_sleep_ns(KF_NS_PER_MS);	/* four with its sleep */
	raise(SIGKILL);
}

static pid_t inner_of(const char *path)
{
	char *file = kf_format("%s.pid", path);
	struct kf_buf text = { .max = 32 };
	pid_t pid;

	assert_int_equal(kf_file_read(file, &text, NULL), KF_OK);
	pid = (pid_t)strtol(kf_buf_str(&text), NULL, 10);
	assert_true(pid > 1);
	kf_buf_release(&text);
	free(file);
	return pid;
}

static void test_nothing_is_left_where_a_worker_was_killed(void **s)
{
	char *folder = kf_strdup("/tmp/kforge-pool-XXXXXX"), *path;
	struct kf_pool_answer answer;
	struct pollfd p[KF_POOL_MAX];
	uint64_t end_ns = kf_now_ns() + WAIT_NS;
	struct kf_pool *pool;

	(void)s;
	assert_non_null(mkdtemp(folder));
	path = kf_format("%s/bwrap", folder);
	assert_int_equal(kf_file_write(path, like_bwrap, strlen(like_bwrap),
				       NULL), KF_OK);
	assert_int_equal(chmod(path, 0755), 0);
	setenv("KFORGE_BWRAP", path, 1);
	assert_int_equal(kf_pool_new(&(struct kf_pool_spec) {
		.count = 1, .work = be_killed, .arg = path,
	}, &pool, NULL), KF_OK);
	give(pool, RED);
	assert_true(poll(p, (nfds_t)kf_pool_poll(pool, p), ANSWER_MS) > 0);
	assert_true(kf_pool_answer(pool, &answer));
	assert_null(answer.text);
	assert_int_equal(answer.signal, SIGKILL);
	assert_int_equal(kill(inner_of(path), 0), -1);
	assert_int_equal(errno, ESRCH);
	/* Its sleep is not ours to end; it does so by itself. */
	while (kf_usage_processes(getpid()) > 1 && kf_now_ns() < end_ns)
		kf_sleep_ns(KF_NS_PER_MS);
	assert_int_equal(kf_usage_processes(getpid()), 1);
	kf_pool_free(pool);
	unsetenv("KFORGE_BWRAP");
	assert_int_equal(kf_remove_tree(folder, NULL), KF_OK);
	free(path);
	free(folder);
}

static void be_numbered(void *arg, unsigned number)
{
	*(unsigned *)arg = number;
}

/* Answers with its number among the workers; "die" kills it. */
static void tell_number(void *arg, const char *item, size_t len,
			struct kf_buf *answer)
{
	if (len == 3 && strncmp(item, "die", 3) == 0)
		raise(SIGKILL);
	kf_buf_printf(answer, "%u", *(const unsigned *)arg);
}

static void test_who_takes_a_dead_ones_place_has_its_number(void **state)
{
	struct kf_pool_answer answer;
	struct pollfd p[KF_POOL_MAX];
	struct kf_pool *pool;
	unsigned own = 99;

	(void)state;
	assert_int_equal(kf_pool_new(&(struct kf_pool_spec) {
		.count = 2, .begin = be_numbered, .work = tell_number,
		.arg = &own,
	}, &pool, NULL), KF_OK);
	give(pool, RED);
	give(pool, BLUE);
	assert_int_equal(take(pool) + take(pool), 0 + 1);
	assert_int_equal(do_one(pool, RED), 0);
	assert_int_equal(do_one(pool, BLUE), 1);
	assert_int_equal(kf_pool_give(pool, &(struct kf_pool_item) {
		.subject = BLUE, .text = "die", .len = 3,
	}, NULL), KF_OK);
	assert_true(poll(p, (nfds_t)kf_pool_poll(pool, p), ANSWER_MS) > 0);
	assert_true(kf_pool_answer(pool, &answer));
	assert_null(answer.text);
	give(pool, RED);		/* or it would take the next one, too */
	give(pool, GREEN);
	assert_int_equal(take(pool) + take(pool), 0 + 1);
	assert_int_equal(do_one(pool, GREEN), 1);
	kf_pool_free(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_subject_stays_with_its_worker),
		cmocka_unit_test(test_who_is_busy_is_known_but_does_not_wait),
		cmocka_unit_test(test_another_subject_takes_its_place),
		cmocka_unit_test(test_no_subject_is_not_one),
		cmocka_unit_test(
			test_nothing_is_left_where_a_worker_was_killed),
		cmocka_unit_test(
			test_who_takes_a_dead_ones_place_has_its_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
