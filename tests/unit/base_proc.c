/* base_proc.c - child processes: what they print, and every way to end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"

/* Every deadline that is not meant to pass. */
#define LONG_NS (60 * KF_NS_PER_S)

static struct kf_buf out, errout;
static struct kf_proc_end end;
static struct kf_err err;

static int setup(void **state)
{
	(void)state;
	out = (struct kf_buf) { .max = 1u << 20 };
	errout = (struct kf_buf) { .max = 1u << 20 };
	err = (struct kf_err) { 0 };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	kf_buf_release(&out);
	kf_buf_release(&errout);
	return 0;
}

static enum kf_code shell(const char *script, struct kf_proc_spec spec)
{
	const char *const argv[] = { "sh", "-c", script, NULL };

	spec.argv = argv;
	if (!spec.timeout_ns)
		spec.timeout_ns = LONG_NS;
	return kf_proc_run(&spec, &out, &errout, &end, &err);
}

static void test_output_and_status_are_kept_apart(void **state)
{
	(void)state;
	assert_int_equal(shell("echo good; echo bad >&2; exit 3",
			       (struct kf_proc_spec) { 0 }), KF_OK);
	assert_string_equal(kf_buf_str(&out), "good\n");
	assert_string_equal(kf_buf_str(&errout), "bad\n");
	assert_int_equal(end.exit_code, 3);
	assert_int_equal(end.signal, 0);
	assert_false(end.timed_out || end.canceled || end.full);
	assert_true(end.took_ns > 0);
}

static void test_output_may_be_discarded(void **state)
{
	const char *const argv[] = { "sh", "-c",
		"head -c 300000 /dev/zero; echo x >&2", NULL };
	struct kf_proc_spec spec = { .argv = argv, .timeout_ns = LONG_NS };

	(void)state;
	assert_int_equal(kf_proc_run(&spec, NULL, NULL, &end, &err), KF_OK);
	assert_int_equal(end.exit_code, 0);
}

static void test_output_beyond_the_ceiling_is_dropped(void **state)
{
	(void)state;
	out.max = 10;
	assert_int_equal(shell("yes | head -c 500000; echo end >&2",
			       (struct kf_proc_spec) { 0 }), KF_OK);
	assert_string_equal(kf_buf_str(&out), "y\ny\ny\ny\ny\n");
	assert_string_equal(kf_buf_str(&errout), "end\n");
	assert_int_equal(end.exit_code, 0);
	assert_false(end.full);
}

static void test_endless_output_can_be_stopped_when_full(void **state)
{
	(void)state;
	out.max = 1000;
	assert_int_equal(shell("yes", (struct kf_proc_spec) {
			       .stop_when_full = true }), KF_OK);
	assert_true(end.full);
	assert_false(end.timed_out);
	assert_int_equal(out.len, 1000);
}

static void test_large_input_comes_back_whole(void **state)
{
	static const size_t len = 900001;	/* many times a pipe's size */
	char *bytes = kf_alloc(len);

	(void)state;
	for (size_t i = 0; i < len; i++)
		bytes[i] = (char)(i % 251);
	assert_int_equal(shell("cat", (struct kf_proc_spec) {
			       .stdin_bytes = bytes, .stdin_len = len }),
			 KF_OK);
	assert_int_equal(out.len, len);
	assert_memory_equal(out.data, bytes, len);
	free(bytes);
}

static void test_no_input_is_an_end_of_file(void **state)
{
	(void)state;
	assert_int_equal(shell("cat; echo done", (struct kf_proc_spec) { 0 }),
			 KF_OK);
	assert_string_equal(kf_buf_str(&out), "done\n");
}

static void test_input_that_nobody_reads_is_no_trouble(void **state)
{
	static const size_t len = 900001;
	char *bytes = kf_alloc(len);

	(void)state;
	assert_int_equal(shell("exec <&-; echo done", (struct kf_proc_spec) {
			       .stdin_bytes = bytes, .stdin_len = len }),
			 KF_OK);
	assert_string_equal(kf_buf_str(&out), "done\n");
	assert_int_equal(end.exit_code, 0);
	free(bytes);
}

static void test_deadline_kills_the_whole_group(void **state)
{
	(void)state;
	assert_int_equal(shell("sleep 600 & echo $!; wait",
			       (struct kf_proc_spec) {
			       .timeout_ns = 200 * KF_NS_PER_MS }), KF_OK);
	assert_true(end.timed_out);
	assert_int_equal(end.signal, SIGKILL);
	assert_true(end.took_ns < 30 * KF_NS_PER_S);
}

static void test_cancel_stops_it(void **state)
{
	static const volatile int stop = 1;

	(void)state;
	assert_int_equal(shell("sleep 600", (struct kf_proc_spec) {
			       .cancel = &stop }), KF_OK);
	assert_true(end.canceled);
	assert_false(end.timed_out);
	assert_int_equal(end.signal, SIGKILL);
}

static void test_crash_is_a_signal(void **state)
{
	(void)state;
	assert_int_equal(shell("kill -ABRT $$", (struct kf_proc_spec) { 0 }),
			 KF_OK);
	assert_int_equal(end.signal, SIGABRT);
	assert_false(end.timed_out);
}

static void test_grandchild_that_holds_the_pipe_is_not_waited_for(void **state)
{
	(void)state;
	assert_int_equal(shell("sleep 600 & echo done",
			       (struct kf_proc_spec) { 0 }), KF_OK);
	assert_string_equal(kf_buf_str(&out), "done\n");
	assert_int_equal(end.exit_code, 0);
	assert_true(end.took_ns < 30 * KF_NS_PER_S);
}

static void test_grandchild_that_floods_the_pipe_is_not_waited_for(void **state)
{
	pid_t pid;

	(void)state;
	/* In a session of its own the kill of the group does not reach it. */
	assert_int_equal(shell("exec 3>&1; x=$(setsid -f sh -c "
			       "'echo $$ >&2; exec yes >&3'); exit 4",
			       (struct kf_proc_spec) { 0 }), KF_OK);
	assert_int_equal(end.exit_code, 4);
	pid = (pid_t)strtol(kf_buf_str(&errout), NULL, 10);
	if (pid > 1)
		kill(pid, SIGKILL);
}

static void test_program_that_cannot_start_is_our_trouble(void **state)
{
	static const struct { const char *program, *words; } row[] = {
		{ "kforge-no-such-program", "no such program on PATH" },
		{ "/no/such/program", "no such program" },
		{ "/tmp", "Permission denied" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(row); i++) {
		const char *const argv[] = { row[i].program, NULL };
		struct kf_proc_spec spec = { .argv = argv,
					     .timeout_ns = LONG_NS };

		assert_int_equal(kf_proc_run(&spec, &out, &errout, &end, &err),
				 KF_E_UNAVAIL);
		assert_int_equal(err.code, KF_E_UNAVAIL);
		assert_non_null(strstr(err.text, row[i].program));
		if (!strstr(err.text, row[i].words))
			fail_msg("%s", err.text);
	}
}

static void test_run_without_a_deadline_is_refused(void **state)
{
	const char *const argv[] = { "true", NULL };
	struct kf_proc_spec spec = { .argv = argv };

	(void)state;
	assert_int_equal(kf_proc_run(&spec, &out, &errout, &end, &err),
			 KF_E_INPUT);
}

static void test_folder_and_environment_are_as_asked(void **state)
{
	static const char *const env[] = { "ONLY=this", NULL };
	struct kf_proc_spec spec = { .cwd = "/", .env = env };

	(void)state;
	assert_int_equal(shell("pwd; echo $ONLY$HOME", spec), KF_OK);
	assert_string_equal(kf_buf_str(&out), "/\nthis\n");
	spec.cwd = "/no/such/folder";
	assert_int_equal(shell("pwd", spec), KF_E_INPUT);
	assert_non_null(strstr(err.text, "/no/such/folder"));
}

static void test_relative_program_is_found_from_our_folder(void **state)
{
	const char *const argv[] = { "./tests/run", "--help", NULL };
	struct kf_proc_spec spec = { .argv = argv, .cwd = "/",
				     .timeout_ns = LONG_NS };

	(void)state;
	assert_int_equal(kf_proc_run(&spec, &out, &errout, &end, &err), KF_OK);
	assert_int_equal(end.exit_code, 0);
}

static size_t count_descriptors(bool only_inherited)
{
	size_t n = 0;

	for (int fd = 0; fd < 256; fd++) {
		int flags = fcntl(fd, F_GETFD);

		n += flags >= 0 && !(only_inherited && (flags & FD_CLOEXEC));
	}
	return n;
}

static void test_no_descriptor_is_left_open(void **state)
{
	static const char *const argv[] = { "/tmp", NULL };
	struct kf_proc_spec bad = { .argv = argv, .timeout_ns = LONG_NS };
	size_t before = count_descriptors(false);

	(void)state;
	shell("true", (struct kf_proc_spec) { 0 });
	kf_proc_run(&bad, &out, &errout, &end, &err);
	assert_int_equal(count_descriptors(false), before);
}

static void test_child_inherits_no_pipe_of_ours(void **state)
{
	uint64_t n;

	(void)state;
	assert_int_equal(shell("printf %d $(ls /proc/self/fd | wc -l)",
			       (struct kf_proc_spec) { 0 }), KF_OK);
	assert_true(kf_parse_u64(kf_buf_str(&out), &n));
	/* ls has the folder open as well. */
	assert_int_equal(n, count_descriptors(true) + 1);
}

/* The program tells its group's life through a pipe that it alone holds. */
static void test_a_program_ends_with_the_process_that_runs_it(void **state)
{
	int fd[2];
	char byte;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(fd), 0);
	pid = fork();
	if (pid == 0) {
		char *script = kf_format("echo >&%d; sleep 60 & sleep 60",
					 fd[1]);

		close(fd[0]);
		_exit((int)shell(script, (struct kf_proc_spec) { 0 }));
	}
	close(fd[1]);
	assert_int_equal(read(fd[0], &byte, 1), 1);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(read(fd[0], &byte, 1), 0);
	close(fd[0]);
}

static void test_which_finds_what_is_on_path(void **state)
{
	char *sh = kf_proc_which("sh"), *by_path = kf_proc_which("/bin/sh");
	char *saved = kf_strdup(getenv("PATH"));

	(void)state;
	assert_non_null(sh);
	assert_int_equal(access(sh, X_OK), 0);
	assert_string_equal(by_path, "/bin/sh");
	assert_null(kf_proc_which("kforge-no-such-program"));
	assert_null(kf_proc_which("./kforge-no-such-program"));
	/* An empty element is neither our folder nor the root. */
	setenv("PATH", ":", 1);
	assert_null(kf_proc_which("bin/../bin"));
	assert_null(kf_proc_which("bin"));
	unsetenv("PATH");
	assert_null(kf_proc_which("sh"));
	setenv("PATH", saved, 1);
	free(saved);
	free(by_path);
	free(sh);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	static const struct CMUnitTest test[] = {
		CASE(test_output_and_status_are_kept_apart),
		CASE(test_output_may_be_discarded),
		CASE(test_output_beyond_the_ceiling_is_dropped),
		CASE(test_endless_output_can_be_stopped_when_full),
		CASE(test_large_input_comes_back_whole),
		CASE(test_no_input_is_an_end_of_file),
		CASE(test_input_that_nobody_reads_is_no_trouble),
		CASE(test_deadline_kills_the_whole_group),
		CASE(test_cancel_stops_it),
		CASE(test_crash_is_a_signal),
		CASE(test_grandchild_that_holds_the_pipe_is_not_waited_for),
		CASE(test_grandchild_that_floods_the_pipe_is_not_waited_for),
		CASE(test_program_that_cannot_start_is_our_trouble),
		CASE(test_run_without_a_deadline_is_refused),
		CASE(test_folder_and_environment_are_as_asked),
		CASE(test_relative_program_is_found_from_our_folder),
		CASE(test_no_descriptor_is_left_open),
		CASE(test_child_inherits_no_pipe_of_ours),
		CASE(test_a_program_ends_with_the_process_that_runs_it),
		CASE(test_which_finds_what_is_on_path),
	};

	return cmocka_run_group_tests(test, NULL, NULL);
}
