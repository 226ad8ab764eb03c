/*
 * Nothing paid for is lost: the store is killed in the middle of its work, and
 * run out of disk, and what it had reported as stored must be there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/store.h"
#include "store_fixture.h"

#define ROUNDS 30
#define ATTEMPTS_MAX 1000

/* The reply of attempt number n; long enough to take more than one write. */
static void make_reply(unsigned number, struct kf_buf *out)
{
	kf_buf_clear(out);
	for (unsigned i = 0; i < 200; i++)
		kf_buf_printf(out, "reply %u, line %u\n", number, i);
}

static enum kf_code store_attempt(struct kf_store *store, int64_t problem,
				  unsigned number, struct kf_err *err)
{
	struct kf_buf text = { .max = 1u << 16 };
	struct kf_store_reply reply = { .finish = "stop", .model = "m" };
	enum kf_code code;
	int64_t id;

	make_reply(number, &text);
	reply.text = kf_buf_str(&text);
	reply.text_len = text.len;
	code = asked(store, problem, number, "prompt", &id, err);
	if (!code)
		code = kf_store_reply(store, id, &reply, err);
	kf_buf_release(&text);
	return code;
}

/* The child: replies one after another, each reported when it is stored. */
static void store_for_ever(const char *run, unsigned from, int report)
{
	struct kf_store *store;
	struct kf_err err = { 0 };
	int64_t problem;

	if (kf_store_open(run, KF_STORE_WRITE, &store, &err) ||
	    kf_store_problem_add(store, "p", "00", NULL, &problem, &err))
		_exit(1);
	for (unsigned n = from; n < from + ATTEMPTS_MAX; n++) {
		if (store_attempt(store, problem, n, &err) ||
		    write(report, &n, sizeof(n)) != sizeof(n))
			_exit(2);
	}
	_exit(0);
}

/* Kills the child at a random instant; the last number that it reported. */
static unsigned run_and_kill(const char *run, unsigned from,
			     struct kf_rng *rng)
{
	unsigned reported, last = from - 1;
	int pipe_fd[2], status;
	pid_t pid;

	assert_int_equal(pipe(pipe_fd), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(pipe_fd[0]);
		store_for_ever(run, from, pipe_fd[1]);
	}
	close(pipe_fd[1]);
	/* After some replies, and then anywhere within the next one. */
	for (uint64_t wait = kf_rng_below(rng, 3); wait; wait--)
		if (read(pipe_fd[0], &reported, sizeof(reported)) ==
		    sizeof(reported))
			last = reported;
	kf_sleep_ns(kf_rng_below(rng, 4 * KF_NS_PER_MS));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	while (read(pipe_fd[0], &reported, sizeof(reported)) ==
	       sizeof(reported))
		last = reported;
	close(pipe_fd[0]);
	return last;
}

/* Every row that has a reply has it whole; the number of the last of them. */
static unsigned check_all(struct fixture *f)
{
	struct kf_buf want = { .max = 1u << 16 }, got = { .max = 1u << 16 };
	struct kf_attempt_row *rows;
	struct kf_store *store;
	unsigned last = 0;
	size_t count;

	if (kf_store_open(f->run, KF_STORE_WRITE, &store, &f->err))
		fail_msg("%s", f->err.text);
	if (kf_store_attempts(store, 0, &rows, &count, &f->err))
		fail_msg("%s", f->err.text);
	for (size_t i = 0; i < count; i++) {
		if (rows[i].stage < KF_STAGE_REPLIED)
			continue;
		make_reply(rows[i].number, &want);
		if (kf_store_get(store, rows[i].reply_hash, &got, &f->err))
			fail_msg("%s", f->err.text);
		assert_string_equal(kf_buf_str(&got), kf_buf_str(&want));
		assert_int_equal(rows[i].number, last + 1);
		last = rows[i].number;
	}
	kf_attempt_rows_free(rows, count);
	kf_store_close(store);
	kf_buf_release(&want);
	kf_buf_release(&got);
	return last;
}

static void test_a_reported_reply_survives_every_kill(void **state)
{
	struct fixture *f = *state;
	struct kf_rng rng = { .state = kf_now_ns() };
	struct kf_store *store;
	unsigned stored = 0;

	print_message("# seed %llu\n", (unsigned long long)rng.state);
	assert_int_equal(kf_store_open(f->run, KF_STORE_CREATE, &store,
				       &f->err), KF_OK);
	kf_store_close(store);
	for (int round = 0; round < ROUNDS; round++) {
		unsigned reported = run_and_kill(f->run, stored + 1, &rng);

		stored = check_all(f);
		assert_true(stored >= reported);
		/* At most the one that was under way may be there, too. */
		assert_true(stored <= reported + 1);
	}
	assert_true(stored > 0);
}

/* --- the disk is full ----------------------------------------------------- */

/* In a child: stores until it fails, then checks. 0 is good; what went wrong
 * is told by the number. */
static int fill_up(struct fixture *f)
{
	struct kf_store *store;
	unsigned n = 0;
	int64_t problem;

	if (kf_store_open(f->run, KF_STORE_WRITE, &store, &f->err) ||
	    kf_store_problem_add(store, "p", "00", NULL, &problem, &f->err))
		return 3;
	while (n < ATTEMPTS_MAX &&
	       store_attempt(store, problem, n + 1, &f->err) == KF_OK)
		n++;
	kf_store_close(store);
	if (n == ATTEMPTS_MAX || !n)
		return 4;
	if (f->err.code != KF_E_IO || !strstr(f->err.text, f->run)) {
		print_error("# %d %s\n", f->err.code, f->err.text);
		return 5;
	}
	return check_all(f) == n ? 0 : 6;
}

static int fill_limited(struct fixture *f)
{
	/* Enough for the objects, soon too little for the log of SQLite. */
	struct rlimit limit = { 200000, 200000 };

	signal(SIGXFSZ, SIG_IGN);
	return setrlimit(RLIMIT_FSIZE, &limit) ? 7 : fill_up(f);
}

static int fill_small_disk(struct fixture *f)
{
	struct kf_store *store;

	if (unshare(CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", f->dir, "tmpfs", 0, "size=1m"))
		return 77;	/* not allowed here */
	if (kf_store_open(f->run, KF_STORE_CREATE, &store, &f->err))
		return 2;
	kf_store_close(store);
	return fill_up(f);
}

static int in_child(struct fixture *f, int (*body)(struct fixture *f))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(body(f));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_a_file_that_may_not_grow_is_a_sentence(void **state)
{
	struct fixture *f = *state;
	struct kf_store *store;

	assert_int_equal(kf_store_open(f->run, KF_STORE_CREATE, &store,
				       &f->err), KF_OK);
	kf_store_close(store);
	assert_int_equal(in_child(f, fill_limited), 0);
	/* Once there is room again, the run goes on. */
	check_all(f);
}

static void test_a_full_disk_loses_nothing(void **state)
{
	int result = in_child(*state, fill_small_disk);

	if (result == 77)
		skip();
	assert_int_equal(result, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_a_reported_reply_survives_every_kill),
		TEST(test_a_file_that_may_not_grow_is_a_sentence),
		TEST(test_a_full_disk_loses_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
