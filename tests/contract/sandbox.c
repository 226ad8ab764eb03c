/*
 * The promises of sandbox/sandbox.h, asked of every tier that this machine
 * has, with the programs of tests/hostile/. A tier that cannot be had is
 * skipped, or failed if KF_MUST_RUN names it ("strong,medium,weak").
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sandbox/orphans.h"
#include "sandbox/sandbox.h"
#include "sandbox/usage.h"

#define MIB (UINT64_C(1) << 20)
#define STRONG (1u << KF_TIER_STRONG)
#define MEDIUM (1u << KF_TIER_MEDIUM)
#define WEAK (1u << KF_TIER_WEAK)
#define ALL (STRONG | MEDIUM | WEAK)
#define BINDS_NS (50 * KF_NS_PER_MS)
#define SOON_NS (5 * KF_NS_PER_S)	/* nothing here may take as long */

static const struct kf_limits plenty = {
	.memory_bytes = 256 * MIB,
	.cpu_ns = 10 * KF_NS_PER_S,
	.wall_ns = 20 * KF_NS_PER_S,
	.file_bytes = 64 * MIB,
	.processes = 16,
	.descriptors = 64,
};

/* A tier under test. */
struct subject {
	enum kf_sandbox_tier tier;
	char dir[64];		/* writable, shown as /out */
	const char *hostile;	/* the programs, shown as /hostile */
	const char *missing;	/* why it cannot be had here; NULL: it can */
};

/* A program and what must become of it. */
struct row {
	const char *name;
	enum kf_sandbox_profile profile;
	const char *argv[4];
	enum kf_end end;
	int number;		/* exit code or signal */
	unsigned tiers;
	/* 0: as in plenty */
	uint64_t memory_bytes, cpu_ns, wall_ns, file_bytes;
	unsigned processes;
	bool user_only;		/* RLIMIT_NPROC holds users, */
	bool root_only;		/* and does not hold root */
	bool strict;		/* descriptor 3 is the strict filter */
	const char *violation;	/* the system call that it prints */
};

static const struct row rows[] = {
	{ "its exit code arrives", KF_SANDBOX_BUILDER, { "end_as_told", "exit", "7" }, KF_END_EXITED, 7, .tiers = ALL },
	{ "its signal arrives", KF_SANDBOX_BUILDER, { "end_as_told", "signal", "11" }, KF_END_SIGNAL, 11, .tiers = ALL },
	{ "exit code 139 is no signal", KF_SANDBOX_BUILDER, { "end_as_told", "exit", "139" }, KF_END_EXITED, 139, .tiers = WEAK },
	{ "the disk is not there (builder)", KF_SANDBOX_BUILDER, { "read_disk" }, KF_END_EXITED, 0, .tiers = ALL },
	{ "the disk is not there (host)", KF_SANDBOX_HOST, { "read_disk" }, KF_END_EXITED, 0, .tiers = ALL },
	{ "the disk is not there (reference)", KF_SANDBOX_REFERENCE, { "read_disk" }, KF_END_EXITED, 0, .tiers = WEAK },
	{ "no network (builder)", KF_SANDBOX_BUILDER, { "open_socket" }, KF_END_EXITED, 0, .tiers = ALL },
	{ "no network (host)", KF_SANDBOX_HOST, { "open_socket" }, KF_END_EXITED, 0, .tiers = ALL },
	{ "no network (reference)", KF_SANDBOX_REFERENCE, { "open_socket" }, KF_END_EXITED, 0, .tiers = ALL },
	{ "signals stay inside (tool)", KF_SANDBOX_TOOL, { "reach_processes" }, KF_END_EXITED, 0, .tiers = ALL },
	{ "no way out (tool)", KF_SANDBOX_TOOL, { "escape" }, KF_END_EXITED, 0, .tiers = ALL },
	{ "no way out", KF_SANDBOX_BUILDER, { "escape" }, KF_END_EXITED, 0, .tiers = ALL },
	{ "nothing is written outside", KF_SANDBOX_BUILDER, { "write_outside", "/hostile" }, KF_END_EXITED, 0, .tiers = ALL },
	{ "nothing is written outside (host)", KF_SANDBOX_HOST, { "write_outside", "/hostile" }, KF_END_EXITED, 0, .tiers = ALL },
	{ "memory is limited", KF_SANDBOX_HOST, { "hog_memory" }, KF_END_MEMORY, 0, .tiers = ALL, .memory_bytes = 64 * MIB },
	{ "processor time is limited", KF_SANDBOX_HOST, { "spin" }, KF_END_CPU, 0, .tiers = ALL, .cpu_ns = 300 * KF_NS_PER_MS },
	{ "processor time of threads adds up", KF_SANDBOX_HOST, { "spin", "4" }, KF_END_CPU, 0, .tiers = ALL, .cpu_ns = 400 * KF_NS_PER_MS },
	{ "wall time is limited", KF_SANDBOX_BUILDER, { "stay" }, KF_END_WALL, 0, .tiers = ALL, .wall_ns = 300 * KF_NS_PER_MS },
	{ "a file is limited", KF_SANDBOX_BUILDER, { "flood_file", "/out/flood" }, KF_END_SIGNAL, SIGXFSZ, .tiers = ALL, .file_bytes = 8 * MIB },
	{ "/tmp is limited", KF_SANDBOX_BUILDER, { "flood_tmp" }, KF_END_EXITED, 8, .tiers = STRONG | MEDIUM, .file_bytes = 8 * MIB },
	{ "a folder is limited", KF_SANDBOX_BUILDER, { "flood_folder", "/out" }, KF_END_FILES, 0, .tiers = ALL, .file_bytes = 8 * MIB },
	{ "descriptors are limited", KF_SANDBOX_HOST, { "take_descriptors" }, KF_END_EXITED, 64, .tiers = ALL },
	{ "a fork bomb runs into the wall", KF_SANDBOX_BUILDER, { "fork_bomb" }, KF_END_WALL, 0, .tiers = STRONG, .wall_ns = 400 * KF_NS_PER_MS },
	{ "a fork bomb is seen", KF_SANDBOX_BUILDER, { "fork_bomb" }, KF_END_VIOLATION, 0, .tiers = MEDIUM, .wall_ns = SOON_NS, .root_only = true },
	{ "a fork bomb is held", KF_SANDBOX_BUILDER, { "fork_bomb" }, KF_END_WALL, 0, .tiers = MEDIUM | WEAK, .wall_ns = 400 * KF_NS_PER_MS, .user_only = true },
	{ "a daemon is left behind", KF_SANDBOX_BUILDER, { "leave_daemon" }, KF_END_EXITED, 0, .tiers = ALL },
	{ "signals stay inside", KF_SANDBOX_BUILDER, { "reach_processes" }, KF_END_EXITED, 0, .tiers = ALL },
	{ "it may leave links", KF_SANDBOX_BUILDER, { "plant_links", "/out" }, KF_END_EXITED, 0, .tiers = ALL },

	{ "strict: honest work is allowed", KF_SANDBOX_HOST, { "strict", "honest" }, KF_END_EXITED, 0, .tiers = ALL, .strict = true },
	{ "strict: fork", KF_SANDBOX_HOST, { "strict", "fork" }, KF_END_EXITED, 77, .tiers = ALL, .strict = true, .violation = "clone" },
	{ "strict: vfork", KF_SANDBOX_HOST, { "strict", "vfork" }, KF_END_EXITED, 77, .tiers = ALL, .strict = true, .violation = "vfork" },
	{ "strict: execve", KF_SANDBOX_HOST, { "strict", "exec" }, KF_END_EXITED, 77, .tiers = ALL, .strict = true, .violation = "execve" },
	{ "strict: socket", KF_SANDBOX_HOST, { "strict", "socket" }, KF_END_EXITED, 77, .tiers = ALL, .strict = true, .violation = "socket" },
	{ "strict: socketpair", KF_SANDBOX_HOST, { "strict", "socketpair" }, KF_END_EXITED, 77, .tiers = ALL, .strict = true, .violation = "socketpair" },
	{ "strict: kill", KF_SANDBOX_HOST, { "strict", "kill" }, KF_END_EXITED, 77, .tiers = ALL, .strict = true, .violation = "kill" },
	{ "strict: creating a file", KF_SANDBOX_HOST, { "strict", "create" }, KF_END_EXITED, 77, .tiers = ALL, .strict = true, .violation = "openat" },
	{ "strict: opening for writing", KF_SANDBOX_HOST, { "strict", "write-open" }, KF_END_EXITED, 77, .tiers = ALL, .strict = true, .violation = "openat" },
	{ "strict: truncating", KF_SANDBOX_HOST, { "strict", "truncate" }, KF_END_EXITED, 77, .tiers = ALL, .strict = true, .violation = "openat" },
	{ "strict: unlink", KF_SANDBOX_HOST, { "strict", "unlink" }, KF_END_EXITED, 77, .tiers = ALL, .strict = true, .violation = "unlink" },
	{ "strict: hiding violations", KF_SANDBOX_HOST, { "strict", "handle" }, KF_END_EXITED, 77, .tiers = ALL, .strict = true, .violation = "rt_sigaction" },
	{ "strict: ptrace", KF_SANDBOX_HOST, { "strict", "ptrace" }, KF_END_EXITED, 77, .tiers = ALL, .strict = true, .violation = "ptrace" },
	{ "strict: prctl", KF_SANDBOX_HOST, { "strict", "dumpable" }, KF_END_EXITED, 77, .tiers = ALL, .strict = true, .violation = "prctl" },
	{ "strict: setrlimit", KF_SANDBOX_HOST, { "strict", "limit" }, KF_END_EXITED, 77, .tiers = ALL, .strict = true, .violation = "prlimit64" },
	{ "strict: memfd_create", KF_SANDBOX_HOST, { "strict", "memfd" }, KF_END_EXITED, 77, .tiers = ALL, .strict = true, .violation = "memfd_create" },
	{ "strict: alarm", KF_SANDBOX_HOST, { "strict", "alarm" }, KF_END_EXITED, 77, .tiers = ALL, .strict = true, .violation = "alarm" },
	{ "strict: pipe", KF_SANDBOX_HOST, { "strict", "pipe" }, KF_END_EXITED, 77, .tiers = ALL, .strict = true, .violation = "pipe2" },
	{ "strict: dup2", KF_SANDBOX_HOST, { "strict", "dup" }, KF_END_EXITED, 77, .tiers = ALL, .strict = true, .violation = "dup2" },
	{ "strict: userfaultfd", KF_SANDBOX_HOST, { "strict", "userfault" }, KF_END_EXITED, 77, .tiers = ALL, .strict = true, .violation = "userfaultfd" },
	{ "strict: wait4", KF_SANDBOX_HOST, { "strict", "wait" }, KF_END_EXITED, 77, .tiers = ALL, .strict = true, .violation = "wait4" },
	{ "strict: abort() is a crash", KF_SANDBOX_HOST, { "strict", "abort" }, KF_END_SIGNAL, SIGABRT, .tiers = ALL, .strict = true },
	{ "strict: libraries may be opened", KF_SANDBOX_HOST, { "strict", "read-open" }, KF_END_EXITED, 0, .tiers = ALL, .strict = true },
	{ "strict: clone3 is absent", KF_SANDBOX_HOST, { "strict", "clone3" }, KF_END_EXITED, 0, .tiers = ALL, .strict = true },
	{ "strict: without a handler it is a violation", KF_SANDBOX_HOST, { "strict", "unhandled", "fork" }, KF_END_VIOLATION, SIGSYS, .tiers = ALL, .strict = true },
};

/* One call each; all must be violations, in every profile. */
static const char *const forbidden[] = {
	"ptrace", "process_vm_readv", "process_vm_writev", "mount", "umount2",
	"pivot_root", "chroot", "open_tree", "move_mount", "fsopen",
	"fsconfig", "fsmount", "mount_setattr", "open_by_handle_at", "bpf",
	"kexec_load", "init_module", "finit_module", "delete_module",
	"reboot", "swapon", "settimeofday", "clock_settime", "sethostname",
	"add_key", "request_key", "keyctl", "userfaultfd",
};

/* --- helpers -------------------------------------------------------------- */

static struct kf_sandbox_spec plain_spec(const struct subject *s,
					 struct kf_bind bind[2],
					 const char *const *argv)
{
	struct kf_sandbox_spec spec = {
		.profile = KF_SANDBOX_BUILDER,
		.tier_min = s->tier,
		.argv = argv,
		.bind = bind,
		.bind_count = 2,
		.limits = plenty,
		.output_max = 65536,
	};

	bind[0] = (struct kf_bind) { .source = s->hostile,
				     .target = "/hostile" };
	bind[1] = (struct kf_bind) { .source = s->dir, .target = "/out",
				     .writable = true };
	return spec;
}

static void must(enum kf_code code, const struct kf_err *err)
{
	if (code)
		fail_msg("%s: %s", kf_code_name(code), err->text);
}

/* Runs one program to its end. */
static void run(struct kf_sandbox_spec *spec, const struct subject *s,
		struct kf_outcome *outcome)
{
	struct kf_err err = { 0 };

	must(kf_sandbox_run(spec, outcome, &err), &err);
	assert_int_equal(outcome->tier, s->tier);
	assert_true(outcome->took_ns > 0);
}

static void run_words(const struct subject *s, struct kf_outcome *outcome,
		      const char *const *argv)
{
	struct kf_bind bind[2];
	struct kf_sandbox_spec spec = plain_spec(s, bind, argv);

	run(&spec, s, outcome);
}

/* "KF_TEST=N": what marks the processes of this suite among others. */
static char *mark(void)
{
	return kf_format("KF_TEST=%d", (int)getpid());
}

static bool has_mark(const char *pid, const char *text)
{
	struct kf_buf environment = { .max = 4096 };
	char *path = kf_format("/proc/%s/environ", pid);
	bool found = false;

	if (kf_file_read(path, &environment, NULL) == KF_OK)
		found = memmem(kf_buf_str(&environment), environment.len,
			       text, strlen(text) + 1) != NULL;
	kf_buf_release(&environment);
	free(path);
	return found;
}

/* Living processes with the mark. */
static unsigned count_marked(const char *text)
{
	DIR *d = opendir("/proc");
	unsigned count = 0;
	struct dirent *e;

	assert_non_null(d);
	while ((e = readdir(d)) != NULL)
		if (isdigit((unsigned char)e->d_name[0]))
			count += has_mark(e->d_name, text);
	closedir(d);
	return count;
}

static void expect_output(const struct row *row,
			  const struct kf_outcome *outcome)
{
	const char *text = kf_buf_str(&outcome->out);
	char name[48];
	int number;

	if (!row->violation)
		return;
	assert_int_equal(sscanf(text, "violation %d", &number), 1);
	kf_sandbox_syscall_name(number, name);
	assert_string_equal(name, row->violation);
}

static void expect(const struct row *row, const struct kf_outcome *outcome)
{
	int number = outcome->end == KF_END_EXITED ? outcome->exit_code
						   : outcome->signal;

	if (outcome->end != row->end || (row->number &&
					 number != row->number) ||
	    (row->end == KF_END_EXITED && number != row->number))
		fail_msg("%s, %d instead of %s, %d (%s); out: %s; errout: %s",
			 kf_end_name(outcome->end), number,
			 kf_end_name(row->end), row->number, outcome->detail,
			 kf_buf_str(&outcome->out),
			 kf_buf_str(&outcome->errout));
	if (outcome->end != KF_END_EXITED || outcome->exit_code)
		assert_true(outcome->detail[0] != '\0');
	expect_output(row, outcome);
}

/* --- rows ----------------------------------------------------------------- */

struct row_case {
	const struct subject *subject;
	const struct row *row;
};

static void limit(uint64_t *to, uint64_t value)
{
	if (value)
		*to = value;
}

/* Where the kernel counts tasks by user, those before us that are dead and not
 * reaped yet (by the machine's first process) count too. */
static void wait_until_alone(void)
{
	uint64_t end_ns = kf_now_ns() + SOON_NS;

	while (kf_usage_tasks_of_user() > 1 && kf_now_ns() < end_ns)
		kf_sleep_ns(10 * KF_NS_PER_MS);
}

static void test_row(void **state)
{
	const struct row_case *c = *state;
	const struct row *row = c->row;
	char *program = kf_path_join("/hostile", row->argv[0]);
	const char *argv[] = { program, row->argv[1], row->argv[2],
			       row->argv[3], NULL };
	struct kf_outcome outcome = { 0 };
	struct kf_bind bind[2];
	struct kf_sandbox_spec spec = plain_spec(c->subject, bind, argv);
	struct kf_fd_pass pass = { -1, 3 };
	char *text = mark();
	const char *env[] = { text, NULL };
	struct kf_err err = { 0 };

	spec.env = env;
	spec.profile = row->profile;
	limit(&spec.limits.memory_bytes, row->memory_bytes);
	limit(&spec.limits.cpu_ns, row->cpu_ns);
	limit(&spec.limits.wall_ns, row->wall_ns);
	limit(&spec.limits.file_bytes, row->file_bytes);
	if (row->strict) {
		pass.source = kf_sandbox_filter_fd(KF_SANDBOX_HOST, &err);
		must(err.code, &err);
		spec.fd = &pass;
		spec.fd_count = 1;
	}
	if (row->user_only)
		wait_until_alone();
	run(&spec, c->subject, &outcome);
	expect(row, &outcome);
	assert_int_equal(count_marked(text), 0);
	kf_outcome_release(&outcome);
	free(text);
	if (pass.source >= 0)
		close(pass.source);
	free(program);
}

/* --- promises that take more than a row ----------------------------------- */

static void test_forbidden_calls_are_violations(void **state)
{
	const struct row_case *c = *state;

	for (size_t i = 0; i < KF_COUNT(forbidden); i++) {
		const char *argv[] = { "/hostile/forbidden", forbidden[i],
				       NULL };
		struct kf_outcome outcome = { 0 };

		run_words(c->subject, &outcome, argv);
		if (outcome.end != KF_END_VIOLATION ||
		    outcome.signal != SIGSYS)
			fail_msg("%s: %s, code %d", forbidden[i],
				 kf_end_name(outcome.end), outcome.exit_code);
		kf_outcome_release(&outcome);
	}
}

static void test_environment_and_descriptors_are_empty(void **state)
{
	const struct row_case *c = *state;
	const char *const argv[] = { "/hostile/show_environment", NULL };
	int open_too = open("/etc/passwd", O_RDONLY);	/* no O_CLOEXEC */
	struct kf_outcome outcome = { 0 };

	assert_true(open_too >= 0);
	assert_int_equal(setenv("OPENAI_API_KEY", "secret", 1), 0);
	run_words(c->subject, &outcome, argv);
	if (c->subject->tier == KF_TIER_WEAK)
		assert_int_equal(strncmp(kf_buf_str(&outcome.out),
					 "env TMPDIR=/", 12), 0);
	else
		assert_string_equal(kf_buf_str(&outcome.out), "env PWD=/\n");
	assert_null(strchr(strchr(kf_buf_str(&outcome.out), '\n') + 1, '\n'));
	kf_outcome_release(&outcome);
	close(open_too);
}

static void test_environment_is_what_the_spec_says(void **state)
{
	const struct row_case *c = *state;
	const char *const argv[] = { "/hostile/show_environment", NULL };
	const char *const env[] = { "OMP_NUM_THREADS=2", "EMPTY=", "A=b=c",
				    NULL };
	struct kf_outcome outcome = { 0 };
	struct kf_bind bind[2];
	struct kf_sandbox_spec spec = plain_spec(c->subject, bind, argv);

	spec.env = env;
	run(&spec, c->subject, &outcome);
	assert_non_null(strstr(kf_buf_str(&outcome.out),
			       "env OMP_NUM_THREADS=2\nenv EMPTY=\n"
			       "env A=b=c\n"));
	kf_outcome_release(&outcome);
}

/* Targets that are each other's sources, the hardest order. */
static void test_descriptors_arrive_at_their_numbers(void **state)
{
	const struct row_case *c = *state;
	const char *texts[] = { "first", "second" };
	int fd[2];

	for (size_t i = 0; i < 2; i++) {
		char path[] = "/tmp/kforge-test-XXXXXX";

		fd[i] = mkstemp(path);
		assert_true(fd[i] >= 0);
		unlink(path);
		assert_int_equal(write(fd[i], texts[i], strlen(texts[i])),
				 (ssize_t)strlen(texts[i]));
	}
	for (size_t i = 0; i < 2; i++) {
		char *number = kf_format("%d", fd[1 - i]);
		const char *argv[] = { "/hostile/end_as_told", "fd", number,
				       NULL };
		struct kf_fd_pass pass[] = { { fd[0], fd[1] },
					     { fd[1], fd[0] } };
		struct kf_outcome outcome = { 0 };
		struct kf_bind bind[2];
		struct kf_sandbox_spec spec = plain_spec(c->subject, bind,
							 argv);

		spec.fd = pass;
		spec.fd_count = 2;
		run(&spec, c->subject, &outcome);
		assert_string_equal(kf_buf_str(&outcome.out), texts[i]);
		kf_outcome_release(&outcome);
		free(number);
	}
	close(fd[0]);
	close(fd[1]);
}

static void test_output_flood_is_cut_and_ends(void **state)
{
	const struct row_case *c = *state;
	const char *const argv[] = { "/hostile/flood_output", NULL };
	struct kf_outcome outcome = { 0 };

	run_words(c->subject, &outcome, argv);
	assert_int_equal(outcome.end, KF_END_EXITED);
	assert_int_equal(outcome.exit_code, 3);
	assert_true(outcome.truncated);
	assert_int_equal(outcome.out.len, 65536);
	assert_int_equal(outcome.errout.len, 65536);
	kf_outcome_release(&outcome);
}

static void test_planted_links_are_seen_with_nofollow(void **state)
{
	static const char *const names[] = { "result.json", "loop",
					     "artefact" };
	const struct row_case *c = *state;
	const char *const argv[] = { "/hostile/plant_links", "/out", NULL };
	struct kf_outcome outcome = { 0 };
	int dir;

	run_words(c->subject, &outcome, argv);
	kf_outcome_release(&outcome);
	dir = open(c->subject->dir, O_RDONLY | O_DIRECTORY);
	assert_true(dir >= 0);
	for (size_t i = 0; i < KF_COUNT(names); i++) {
		assert_int_equal(openat(dir, names[i], O_RDONLY | O_NOFOLLOW),
				 -1);
		assert_int_equal(errno, ELOOP);
	}
	close(dir);
}

static void test_cancel_stops_at_once(void **state)
{
	const struct row_case *c = *state;
	const char *const argv[] = { "/hostile/stay", NULL };
	volatile int cancel = 1;
	struct kf_outcome outcome = { 0 };
	struct kf_bind bind[2];
	struct kf_sandbox_spec spec = plain_spec(c->subject, bind, argv);

	spec.cancel = &cancel;
	run(&spec, c->subject, &outcome);
	assert_int_equal(outcome.end, KF_END_CANCELED);
	assert_true(outcome.took_ns < SOON_NS);
	kf_outcome_release(&outcome);
}

static void test_kill_ends_the_tree(void **state)
{
	const struct row_case *c = *state;
	const char *const argv[] = { "/hostile/stay", NULL };
	struct kf_outcome outcome = { 0 };
	struct kf_sandbox *box = NULL;
	struct kf_err err = { 0 };
	struct kf_bind bind[2];
	struct kf_sandbox_spec spec = plain_spec(c->subject, bind, argv);

	must(kf_sandbox_start(&spec, &box, &err), &err);
	kf_sleep_ns(50 * KF_NS_PER_MS);
	assert_false(kf_sandbox_ended(box));
	must(kf_sandbox_kill(box, &outcome, &err), &err);
	assert_int_equal(outcome.end, KF_END_CANCELED);
	kf_outcome_release(&outcome);
	kf_sandbox_free(box);
}

/* Who adopts orphans gets the first process of each namespace whose bubblewrap
 * was killed: it must not stay behind, dead. */
static void test_who_adopts_orphans_has_none_left(void **state)
{
	siginfo_t about;
	int rc, number;

	kf_orphans_adopt();
	for (unsigned i = 0; i < 3; i++)
		test_kill_ends_the_tree(state);
	rc = waitid(P_ALL, 0, &about, WEXITED | WNOHANG | WNOWAIT);
	number = errno;
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	assert_int_equal(rc, -1);
	assert_int_equal(number, ECHILD);
}

static void do_nothing(int number)
{
	(void)number;
}

/* A signal that comes while the last of a tree dies is no sign that it does
 * not: the supervisor gets its own at any time. */
static void test_signals_do_not_disturb_the_end(void **state)
{
	struct sigaction action = { .sa_handler = do_nothing };
	struct itimerval often = { { 0, 200 }, { 0, 200 } };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);	/* until teardown */
	for (unsigned i = 0; i < 10; i++)
		test_kill_ends_the_tree(state);
}

/* Not the machine's, where the supervisor is. */
static void test_a_bind_of_proc_is_its_own(void **state)
{
	const struct row_case *c = *state;
	const char *const argv[] = { "/hostile/read_proc", NULL };
	struct kf_outcome outcome = { 0 };
	struct kf_bind bind[3];
	struct kf_sandbox_spec spec = plain_spec(c->subject, bind, argv);

	run(&spec, c->subject, &outcome);
	assert_int_equal(outcome.exit_code, 2);
	kf_outcome_release(&outcome);
	bind[spec.bind_count++] = (struct kf_bind) { .source = "/proc" };
	run(&spec, c->subject, &outcome);
	assert_int_equal(outcome.end, KF_END_EXITED);
	assert_int_equal(outcome.exit_code, 0);
	kf_outcome_release(&outcome);
}

/* What was printed before is gone, and only the new pipes are read. */
static void test_output_can_begin_anew(void **state)
{
	const struct row_case *c = *state;
	const char *const argv[] = { "/hostile/stay", NULL };
	struct kf_outcome outcome = { 0 };
	struct kf_sandbox *box = NULL;
	struct kf_err err = { 0 };
	struct kf_bind bind[2];
	struct kf_sandbox_spec spec = plain_spec(c->subject, bind, argv);
	int fd[2];

	spec.first = true;
	must(kf_sandbox_start(&spec, &box, &err), &err);
	for (unsigned i = 0; i < 2; i++) {
		must(kf_sandbox_new_output(box, fd, &err), &err);
		assert_int_equal(write(fd[0], i ? "out" : "old", 3), 3);
		assert_int_equal(write(fd[1], i ? "err" : "old", 3), 3);
		close(fd[0]);
		close(fd[1]);
		assert_false(kf_sandbox_ended(box));
	}
	must(kf_sandbox_kill(box, &outcome, &err), &err);
	assert_int_equal(outcome.end, KF_END_CANCELED);
	assert_string_equal(kf_buf_str(&outcome.out), "out");
	assert_string_equal(kf_buf_str(&outcome.errout), "err");
	kf_outcome_release(&outcome);
	kf_sandbox_free(box);
}

/* The second meets its limit while the first goes on. */
static void test_several_are_looked_after_at_once(void **state)
{
	const struct row_case *c = *state;
	const char *const stay[] = { "/hostile/stay", NULL };
	const char *const hog[] = { "/hostile/hog_memory", NULL };
	struct kf_outcome first = { 0 }, second = { 0 };
	struct kf_sandbox *box[2] = { NULL, NULL };
	struct kf_err err = { 0 };
	struct kf_bind bind[2];
	struct kf_sandbox_spec spec = plain_spec(c->subject, bind, stay);

	spec.limits.wall_ns = 2 * KF_NS_PER_S;
	must(kf_sandbox_start(&spec, &box[0], &err), &err);
	spec.argv = hog;
	spec.limits = plenty;
	spec.limits.memory_bytes = 64 * MIB;
	must(kf_sandbox_start(&spec, &box[1], &err), &err);
	while (!kf_sandbox_watch(box, 2, 5))
		;
	must(kf_sandbox_wait(box[0], &first, &err), &err);
	must(kf_sandbox_wait(box[1], &second, &err), &err);
	assert_int_equal(first.end, KF_END_WALL);
	assert_int_equal(second.end, KF_END_MEMORY);
	assert_true(second.took_ns < first.took_ns);
	for (size_t i = 0; i < 2; i++)
		kf_sandbox_free(box[i]);
	kf_outcome_release(&first);
	kf_outcome_release(&second);
}

/* A supervisor that is killed while its box runs, and not while bubblewrap is
 * about to bind its first process to it (docs/store.md). Never returns. */
static void be_killed(const struct subject *s, const char *text)
{
	const char *const argv[] = { "/hostile/stay", NULL };
	const char *env[] = { text, NULL };
	struct kf_sandbox *box = NULL;
	struct kf_bind bind[2];
	struct kf_sandbox_spec spec = plain_spec(s, bind, argv);
	uint64_t deadline_ns = kf_now_ns() + SOON_NS;

	spec.env = env;
	if (kf_sandbox_start(&spec, &box, NULL))
		_exit(1);
	while (!count_marked(text) && kf_now_ns() < deadline_ns)
		kf_sleep_ns(KF_NS_PER_MS);
	kf_sleep_ns(BINDS_NS);
	raise(SIGKILL);
}

static void test_everything_dies_with_the_supervisor(void **state)
{
	const struct row_case *c = *state;
	char *text = mark();
	uint64_t deadline_ns;
	pid_t pid = fork();
	int status = 0;

	assert_true(pid >= 0);
	if (pid == 0)
		be_killed(c->subject, text);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	deadline_ns = kf_now_ns() + SOON_NS;
	while (count_marked(text) && kf_now_ns() < deadline_ns)
		kf_sleep_ns(KF_NS_PER_MS);
	assert_int_equal(count_marked(text), 0);
	free(text);
}

static void test_a_missing_program_is_our_trouble(void **state)
{
	const struct row_case *c = *state;
	const char *const argv[] = { "/hostile/no-such-program", NULL };
	struct kf_outcome outcome = { 0 };
	struct kf_err err = { 0 };
	struct kf_bind bind[2];
	struct kf_sandbox_spec spec = plain_spec(c->subject, bind, argv);

	assert_int_equal(kf_sandbox_run(&spec, &outcome, &err),
			 KF_E_UNAVAIL);
	assert_non_null(strstr(err.text, "No such file"));
	assert_int_equal(outcome.end, KF_END_NONE);
	kf_outcome_release(&outcome);
}

static void test_a_missing_bind_is_our_trouble(void **state)
{
	const struct row_case *c = *state;
	const char *const argv[] = { "/hostile/end_as_told", "exit", "0",
				     NULL };
	struct kf_outcome outcome = { 0 };
	struct kf_err err = { 0 };
	struct kf_bind bind[2];
	struct kf_sandbox_spec spec = plain_spec(c->subject, bind, argv);

	bind[1].source = "/no/such/folder";
	assert_int_not_equal(kf_sandbox_run(&spec, &outcome, &err), KF_OK);
	assert_non_null(strstr(err.text, "/no/such/folder"));
	kf_outcome_release(&outcome);
	bind[1].optional = true;
	run(&spec, c->subject, &outcome);
	assert_int_equal(outcome.end, KF_END_EXITED);
	kf_outcome_release(&outcome);
}

/* On a busy machine bubblewrap's first process may have ended, and it itself
 * not yet, when we want to put that process into its group. */
static void test_a_bubblewrap_that_is_slow_to_fail_tells_why(void **state)
{
	static const char *const until_it_ends[] = {
		"wait", "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done",
	};
	const struct row_case *c = *state;
	const char *const argv[] = { "/hostile/end_as_told", "exit", "0",
				     NULL };
	char *path = kf_path_join(c->subject->dir, "bwrap");

	for (size_t i = 0; i < KF_COUNT(until_it_ends); i++) {
		struct kf_outcome outcome = { 0 };
		struct kf_err err = { 0 };
		struct kf_bind bind[2];
		struct kf_sandbox_spec spec = plain_spec(c->subject, bind,
							 argv);
		char *text = kf_format(
			"#!/bin/sh\n"
			"while [ \"$1\" != --json-status-fd ]; do shift; done\n"
			"(exec true) & p=$!\n"
			"%s\n"
			"eval \"echo '{ \\\"child-pid\\\": $p }' >&$2\"\n"
			"echo 'bwrap: cannot, alas' >&2\n"
			"exec sleep 0.2\n", until_it_ends[i]);
		enum kf_code code;

		must(kf_file_write(path, text, strlen(text), &err), &err);
		assert_int_equal(chmod(path, 0755), 0);
		assert_int_equal(setenv("KFORGE_BWRAP", path, 1), 0);
		code = kf_sandbox_run(&spec, &outcome, &err);
		assert_int_equal(unsetenv("KFORGE_BWRAP"), 0);
		assert_int_equal(code, KF_E_UNAVAIL);
		if (!strstr(err.text, "cannot, alas"))
			fail_msg("%zu: %s", i, err.text);
		kf_outcome_release(&outcome);
		free(text);
	}
	free(path);
}

static void compile(const struct subject *s, const char *compiler,
		    const char *option)
{
	const char *argv[] = { compiler, "-O3", "-shared", "-fPIC", "-o",
			       "/out/p.so", "/out/p.c", option, NULL };
	const char *env[] = { "PATH=/usr/bin:/bin", NULL };
	struct kf_outcome outcome = { 0 };
	struct kf_binds binds = { 0 };
	struct kf_sandbox_spec spec = {
		.profile = KF_SANDBOX_BUILDER,
		.tier_min = s->tier,
		.argv = argv,
		.env = env,
		.cwd = "/out",
		.limits = plenty,
		.output_max = 65536,
	};

	kf_binds_toolchain(&binds);
	kf_binds_add(&binds, s->dir, "/out", true, false);
	spec.bind = binds.bind;
	spec.bind_count = binds.count;
	run(&spec, s, &outcome);
	if (outcome.end != KF_END_EXITED || outcome.exit_code)
		fail_msg("%s: %s: %s", compiler, outcome.detail,
			 kf_buf_str(&outcome.errout));
	kf_outcome_release(&outcome);
	kf_binds_release(&binds);
}

static void test_a_compiler_works(void **state)
{
	static const char source[] = "#include <math.h>\n"
		"void f(float *x, int n)\n{\n\t#pragma omp parallel for\n"
		"\tfor (int i = 0; i < n; i++)\n\t\tx[i] = sinf(x[i]);\n}\n";
	const struct row_case *c = *state;
	char *path = kf_path_join(c->subject->dir, "p.c");
	struct kf_err err = { 0 };

	must(kf_file_write(path, source, strlen(source), &err), &err);
	compile(c->subject, "/usr/bin/gcc", "-fopenmp");
	if (access("/usr/bin/clang", X_OK) == 0)
		compile(c->subject, "/usr/bin/clang", "-lm");
	free(path);
}

static void test_a_dynamic_program_runs_with_few_files(void **state)
{
	const struct row_case *c = *state;
	const char *const argv[] = { "/usr/bin/true", NULL };
	struct kf_binds binds = { 0 };
	struct kf_outcome outcome = { 0 };
	struct kf_err err = { 0 };
	struct kf_sandbox_spec spec = {
		.profile = KF_SANDBOX_HOST,
		.tier_min = c->subject->tier,
		.argv = argv,
		.limits = plenty,
		.output_max = 4096,
	};

	must(kf_binds_runtime(&binds, &err), &err);
	must(kf_binds_program(&binds, argv[0], &err), &err);
	for (size_t i = 0; i < binds.count; i++) {
		assert_false(kf_path_is_dir(binds.bind[i].source));
		assert_false(binds.bind[i].writable);
	}
	spec.bind = binds.bind;
	spec.bind_count = binds.count;
	run(&spec, c->subject, &outcome);
	assert_int_equal(outcome.end, KF_END_EXITED);
	assert_int_equal(outcome.exit_code, 0);
	kf_outcome_release(&outcome);
	kf_binds_release(&binds);
}

static void test_usage_is_reported(void **state)
{
	const struct row_case *c = *state;
	const char *const argv[] = { "/hostile/spin", NULL };
	struct kf_outcome outcome = { 0 };
	struct kf_bind bind[2];
	struct kf_sandbox_spec spec = plain_spec(c->subject, bind, argv);

	spec.limits.wall_ns = 400 * KF_NS_PER_MS;
	run(&spec, c->subject, &outcome);
	assert_int_equal(outcome.end, KF_END_WALL);
	assert_true(outcome.took_ns >= 400 * KF_NS_PER_MS);
	assert_true(outcome.cpu_ns > 50 * KF_NS_PER_MS);
	assert_true(outcome.memory_bytes_peak > 0);
	kf_outcome_release(&outcome);
}

static void test_nothing_is_left_on_disk(void **state)
{
	const struct row_case *c = *state;
	const char *const argv[] = { "/hostile/flood_tmp", NULL };
	struct kf_outcome outcome = { 0 };

	run_words(c->subject, &outcome, argv);
	kf_outcome_release(&outcome);
	assert_int_not_equal(access("/tmp/f0", F_OK), 0);
}

struct promise {
	const char *name;
	CMUnitTestFunction run;
};

static const struct promise promises[] = {
	{ "forbidden calls are violations", test_forbidden_calls_are_violations },
	{ "environment and descriptors are empty", test_environment_and_descriptors_are_empty },
	{ "the environment is what the spec says", test_environment_is_what_the_spec_says },
	{ "descriptors arrive at their numbers", test_descriptors_arrive_at_their_numbers },
	{ "an output flood is cut, and ends", test_output_flood_is_cut_and_ends },
	{ "planted links are seen with O_NOFOLLOW", test_planted_links_are_seen_with_nofollow },
	{ "cancel stops at once", test_cancel_stops_at_once },
	{ "kill ends the tree", test_kill_ends_the_tree },
	{ "who adopts orphans has none left",
	  test_who_adopts_orphans_has_none_left },
	{ "signals do not disturb the end",
	  test_signals_do_not_disturb_the_end },
	{ "a bind of /proc is its own", test_a_bind_of_proc_is_its_own },
	{ "output can begin anew", test_output_can_begin_anew },
	{ "several are looked after at once", test_several_are_looked_after_at_once },
	{ "everything dies with the supervisor", test_everything_dies_with_the_supervisor },
	{ "a missing program is our trouble", test_a_missing_program_is_our_trouble },
	{ "a missing bind is our trouble", test_a_missing_bind_is_our_trouble },
	{ "a compiler works", test_a_compiler_works },
	{ "a dynamic program runs with few files", test_a_dynamic_program_runs_with_few_files },
	{ "usage is reported", test_usage_is_reported },
	{ "nothing is left on disk", test_nothing_is_left_on_disk },
};

/* Of the tiers that bubblewrap makes. */
static const struct promise bubblewraps[] = {
	{ "a bubblewrap that is slow to fail tells why",
	  test_a_bubblewrap_that_is_slow_to_fail_tells_why },
};

/* --- tiers ---------------------------------------------------------------- */

static int setup(void **state)
{
	const struct row_case *c = *state;

	setenv("KFORGE_SANDBOX_TIER", kf_sandbox_tier_name(c->subject->tier),
	       1);
	return 0;
}

/* A fresh /out for the next one. */
static int teardown(void **state)
{
	const struct row_case *c = *state;

	setitimer(ITIMER_REAL, &(struct itimerval) { 0 }, NULL);
	return kf_remove_tree(c->subject->dir, NULL) ||
		mkdir(c->subject->dir, 0755);
}

static bool applies(const struct row *row, enum kf_sandbox_tier tier)
{
	return (row->tiers & (1u << tier)) &&
		!(getuid() == 0 ? row->user_only : row->root_only);
}

/* The tests of every tier form one group, so that there is one plan. */
struct plan {
	struct CMUnitTest *test;
	struct row_case *row_case;
	size_t count;
};

#define PLAN_MAX (3 * (KF_COUNT(rows) + KF_COUNT(promises) + \
		       KF_COUNT(bubblewraps)))

static void add_test(struct plan *plan, const struct subject *s,
		     const struct row *row, const char *name,
		     CMUnitTestFunction function)
{
	struct row_case *c = &plan->row_case[plan->count];

	*c = (struct row_case) { s, row };
	plan->test[plan->count++] = (struct CMUnitTest) {
		.name = kf_format("%s: %s", kf_sandbox_tier_name(s->tier),
				  name),
		.test_func = function,
		.setup_func = s->missing ? NULL : setup,
		.teardown_func = s->missing ? NULL : teardown,
		.initial_state = c,
	};
}

static void test_missing_tier(void **state)
{
	const struct row_case *c = *state;
	const char *must_run = getenv("KF_MUST_RUN");

	if (must_run && strstr(must_run,
			       kf_sandbox_tier_name(c->subject->tier)))
		fail_msg("%s", c->subject->missing);
	print_message("# SKIP %s\n", c->subject->missing);
	skip();
}

static void add_tier(struct plan *plan, const struct subject *s)
{
	if (s->missing) {
		add_test(plan, s, NULL, "all promises", test_missing_tier);
		return;
	}
	for (size_t i = 0; i < KF_COUNT(rows); i++)
		if (applies(&rows[i], s->tier))
			add_test(plan, s, &rows[i], rows[i].name, test_row);
	for (size_t i = 0; i < KF_COUNT(promises); i++)
		add_test(plan, s, NULL, promises[i].name, promises[i].run);
	for (size_t i = 0; s->tier != KF_TIER_WEAK &&
	     i < KF_COUNT(bubblewraps); i++)
		add_test(plan, s, NULL, bubblewraps[i].name,
			 bubblewraps[i].run);
}

int main(void)
{
	struct subject subjects[] = {
		{ .tier = KF_TIER_STRONG }, { .tier = KF_TIER_MEDIUM },
		{ .tier = KF_TIER_WEAK },
	};
	const char *build = getenv("KF_BUILD");
	char *root = realpath(build ? build : "build", NULL);
	char *hostile = kf_path_join(root ? root : "", "hostile");
	struct plan plan = {
		.test = kf_alloc(PLAN_MAX * sizeof(plan.test[0])),
		.row_case = kf_alloc(PLAN_MAX * sizeof(plan.row_case[0])),
	};
	struct kf_buf why = { .max = 512 };
	enum kf_sandbox_tier best;
	int failed;

	unsetenv("KFORGE_SANDBOX_TIER");
	best = kf_sandbox_probe(&why);
	for (size_t i = 0; i < KF_COUNT(subjects); i++) {
		struct subject *s = &subjects[i];

		s->hostile = hostile;
		s->missing = s->tier > best ? kf_buf_str(&why) : NULL;
		snprintf(s->dir, sizeof(s->dir), "/tmp/kforge-test-XXXXXX");
		if (!mkdtemp(s->dir))
			return 1;
		add_tier(&plan, s);
	}
	failed = _cmocka_run_group_tests("sandbox", plan.test, plan.count,
					 NULL, NULL);
	for (size_t i = 0; i < KF_COUNT(subjects); i++)
		kf_remove_tree(subjects[i].dir, NULL);
	for (size_t i = 0; i < plan.count; i++)
		free((char *)(uintptr_t)plan.test[i].name);
	free(plan.test);
	free(plan.row_case);
	kf_buf_release(&why);
	free(hostile);
	free(root);
	return failed;
}
