#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/box.h"
#include "sandbox/bwrap.h"
#include "sandbox/child.h"
#include "sandbox/filter.h"
#include "sandbox/tier.h"
#include "sandbox/weak.h"
#include "base/syscalls.h"

#define OWN_TASKS 2		/* bwrap: itself and the first process */
#define MEET_NS (5 * KF_NS_PER_S)	/* for bwrap to make its namespaces */
#define FILTER_BYTES (256u << 10)
#define STACK_BYTES (UINT64_C(8) << 20)
#define STACK_BYTES_MAX (UINT64_C(64) << 20)

/* What start needs besides the box, released at its end. */
struct launch {
	struct kf_child child;
	struct kf_words argv, env;
	char *program;		/* owned */
	char *cwd;		/* owned */
	int pipe[4][2];		/* out, errout, status, report */
	int gate[2];		/* bwrap's end, ours */
	int null_fd;
	void *filter;		/* owned; the compiled system call filter */
	size_t filter_bytes;
};

enum { OUT, ERROUT, STATUS, REPORT };

static enum kf_code check_limits(const struct kf_limits *limits,
				 struct kf_err *err)
{
	if (!limits->memory_bytes || !limits->cpu_ns || !limits->wall_ns ||
	    !limits->file_bytes || !limits->processes)
		return kf_fail(err, KF_E_INPUT,
			       "a sandbox limit is missing (0 is not allowed)");
	if (limits->descriptors < KF_SANDBOX_FD_MIN)
		return kf_fail(err, KF_E_INPUT, "a sandbox needs at least %d "
			       "descriptors", KF_SANDBOX_FD_MIN);
	return KF_OK;
}

static enum kf_code check(const struct kf_sandbox_spec *spec,
			  struct kf_err *err)
{
	if (!spec->argv || !spec->argv[0])
		return kf_fail(err, KF_E_INPUT,
			       "no program given to the sandbox");
	if (spec->fd_count > KF_SANDBOX_FD_PASS_MAX)
		return kf_fail(err, KF_E_LIMIT, "more than %d descriptors for "
			       "a sandbox", KF_SANDBOX_FD_PASS_MAX);
	for (size_t i = 0; i < spec->fd_count; i++)
		if (spec->fd[i].source < 0 || spec->fd[i].target < 3 ||
		    spec->fd[i].target >= (int)spec->limits.descriptors)
			return kf_fail(err, KF_E_INPUT, "descriptor %d cannot "
				       "be passed as %d", spec->fd[i].source,
				       spec->fd[i].target);
	for (size_t i = 0; spec->env && spec->env[i]; i++)
		if (!strchr(spec->env[i], '=') || spec->env[i][0] == '=')
			return kf_fail(err, KF_E_INPUT, "'%s' is not "
				       "NAME=value", spec->env[i]);
	for (size_t i = 0; i < spec->bind_count; i++) {
		const struct kf_bind *b = &spec->bind[i];

		if (b->source[0] != '/' || (b->target && b->target[0] != '/'))
			return kf_fail(err, KF_E_INPUT, "the path %s for a "
				       "sandbox is not absolute", b->source);
	}
	return check_limits(&spec->limits, err);
}

static enum kf_code launch_init(struct launch *l,
				const struct kf_sandbox_spec *spec,
				struct kf_err *err)
{
	*l = (struct launch) {
		.child = { .landlock_fd = -1 },
		.pipe = { { -1, -1 }, { -1, -1 }, { -1, -1 }, { -1, -1 } },
		.gate = { -1, -1 },
		.null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC),
	};
	if (l->null_fd < 0)
		return kf_fail_errno(err, "cannot open /dev/null");
	for (size_t i = 0; i < KF_COUNT(l->pipe); i++)
		if (pipe2(l->pipe[i], O_CLOEXEC))
			return kf_fail_errno(err, "cannot make a pipe");
	/* A socket, so that its end can be told while others, forked by other
	 * threads just now, still hold it. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, l->gate))
		return kf_fail_errno(err, "cannot make a pair of sockets");
	for (size_t i = 0; i < spec->fd_count; i++)
		l->child.fd[l->child.fd_count++] = spec->fd[i];
	l->child.in = l->null_fd;
	l->child.out = l->pipe[OUT][1];
	l->child.errout = l->pipe[ERROUT][1];
	l->child.report_fd = l->pipe[REPORT][1];
	return KF_OK;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void launch_release(struct launch *l)
{
	for (size_t i = 0; i < KF_COUNT(l->pipe); i++) {
		close_fd(&l->pipe[i][0]);
		close_fd(&l->pipe[i][1]);
	}
	close_fd(&l->gate[0]);
	close_fd(&l->gate[1]);
	close_fd(&l->child.landlock_fd);
	close_fd(&l->null_fd);
	kf_words_release(&l->argv);
	kf_words_release(&l->env);
	free(l->program);
	free(l->cwd);
	free(l->filter);
}

/* Limits that every process of the tree has for itself. */
static void add_limits(struct kf_child *child, const struct kf_limits *limits,
		       enum kf_sandbox_tier tier)
{
	uint64_t seconds = (limits->cpu_ns + KF_NS_PER_S - 1) / KF_NS_PER_S;
	uint64_t tasks;

	kf_child_limit(child, RLIMIT_CPU, seconds, seconds + 1);
	kf_child_limit(child, RLIMIT_FSIZE, limits->file_bytes,
		       limits->file_bytes);
	kf_child_limit(child, RLIMIT_NOFILE, limits->descriptors,
		       limits->descriptors);
	kf_child_limit(child, RLIMIT_CORE, 0, 0);
	kf_child_limit(child, RLIMIT_STACK, STACK_BYTES, STACK_BYTES_MAX);
	kf_child_limit(child, RLIMIT_MEMLOCK, 0, 0);
	kf_child_limit(child, RLIMIT_MSGQUEUE, 0, 0);
	kf_child_limit(child, RLIMIT_RTPRIO, 0, 0);
	if (tier == KF_TIER_STRONG)
		return;
	/* It counts all of the user's tasks, and does not bind root; the
	 * samples of usage.c do the exact work. */
	tasks = (uint64_t)kf_usage_tasks_of_user() + limits->processes +
		OWN_TASKS;
	kf_child_limit(child, RLIMIT_NPROC, tasks, tasks);
}

/* Descriptors that bwrap reads itself get numbers above those passed on. */
static int add_own_fd(struct kf_child *child, int source)
{
	int target = 3;

	for (size_t i = 0; i < child->fd_count; i++)
		if (child->fd[i].target >= target)
			target = child->fd[i].target + 1;
	child->fd[child->fd_count++] = (struct kf_fd_pass) { source, target };
	return target;
}

/* The filter as the kernel wants it, in memory. */
static enum kf_code load_filter(struct launch *l,
				enum kf_filter_company company,
				struct kf_err *err)
{
	int fd = kf_filter_common_fd(company, err);
	struct stat st;
	ssize_t got = -1;

	if (fd < 0)
		return KF_E_UNAVAIL;
	l->filter = kf_alloc(FILTER_BYTES);
	if (fstat(fd, &st) == 0 && st.st_size <= FILTER_BYTES)
		got = read(fd, l->filter, FILTER_BYTES);
	close_fd(&fd);
	if (got <= 0)
		return kf_fail_errno(err, "cannot read the system call filter");
	l->filter_bytes = (size_t)got;
	return KF_OK;
}

static enum kf_code prepare_bwrap(struct launch *l,
				  const struct kf_sandbox_spec *spec,
				  struct kf_err *err)
{
	const char *named = getenv("KFORGE_BWRAP");
	struct kf_bwrap_fds fds;
	enum kf_code code;

	l->program = kf_bwrap_find();
	if (!l->program && named && *named)
		return kf_fail(err, KF_E_UNAVAIL, "KFORGE_BWRAP is %s, which "
			       "is no program: unset it or name bubblewrap",
			       named);
	if (!l->program)
		return kf_fail(err, KF_E_UNAVAIL, "cannot start bwrap "
			       "(bubblewrap): not installed; install it (on "
			       "Debian: apt install bubblewrap), or ask for "
			       "less protection with --sandbox=weak");
	code = load_filter(l, spec->profile == KF_SANDBOX_TOOL ?
			   KF_FILTER_TOOL : KF_FILTER_NAMESPACES, err);
	if (code)
		return code;
	fds.status = add_own_fd(&l->child, l->pipe[STATUS][1]);
	fds.filter = add_own_fd(&l->child, l->gate[0]);
	kf_bwrap_command(spec, l->program, &fds, &l->argv);
	l->env.word = kf_alloc(sizeof(l->env.word[0]));
	return KF_OK;
}

/* Compilers write to /tmp unless told otherwise, which is refused here. */
static void add_tmpdir(struct kf_words *env, const char *tmp_path)
{
	char *text = kf_format("TMPDIR=%s", tmp_path);
	bool there = false;

	for (size_t i = 0; i < env->count; i++)
		there |= strncmp(env->word[i], "TMPDIR=", 7) == 0;
	if (!there)
		kf_words_add(env, text);
	free(text);
}

static enum kf_code prepare_weak(struct launch *l, struct kf_sandbox *box,
				 const struct kf_sandbox_spec *spec,
				 struct kf_err *err)
{
	const char *base = getenv("TMPDIR");
	enum kf_code code;

	box->tmp_path = kf_format("%s/kforge-XXXXXX",
				  base && base[0] == '/' ? base : "/tmp");
	if (!mkdtemp(box->tmp_path)) {
		code = kf_fail_errno(err, "cannot make folder %s",
				     box->tmp_path);
		kf_advise(err, "set TMPDIR to a folder that can be written");
		free(box->tmp_path);
		box->tmp_path = NULL;
		return code;
	}
	code = load_filter(l, kf_landlock_abi() >= KF_LANDLOCK_SIGNALS ?
			      KF_FILTER_SIGNALS_SCOPED : KF_FILTER_ALONE, err);
	if (code)
		return code;
	l->child.filter = (struct sock_fprog) {
		.len = (unsigned short)(l->filter_bytes /
					sizeof(struct sock_filter)),
		.filter = l->filter,
	};
	if (kf_landlock_abi()) {
		l->child.landlock_fd = kf_landlock_new(spec, box->tmp_path,
						       err);
		if (l->child.landlock_fd < 0)
			return KF_E_UNAVAIL;
	}
	kf_weak_words(spec, box->tmp_path, spec->argv, &l->argv);
	kf_weak_words(spec, box->tmp_path, spec->env, &l->env);
	add_tmpdir(&l->env, box->tmp_path);
	l->program = kf_strdup(l->argv.word[0]);
	l->cwd = spec->cwd ? kf_weak_path(spec, box->tmp_path, spec->cwd)
			   : kf_strdup("/");
	l->child.cwd = l->cwd;
	l->child.confine = true;
	return KF_OK;
}

/* Waits for exec. False if it failed; errno says why. */
static bool started(int report_fd, struct kf_child_trouble *trouble)
{
	ssize_t got;

	do
		got = read(report_fd, trouble, sizeof(*trouble));
	while (got < 0 && errno == EINTR);
	return got != sizeof(*trouble);
}

static void take_fd(int *from, int *to)
{
	*to = *from;
	*from = -1;
	fcntl(*to, F_SETFL, O_NONBLOCK);
}

static enum kf_code launch(struct launch *l, struct kf_sandbox *box,
			   struct kf_err *err)
{
	struct kf_child_trouble trouble = { 0 };
	pid_t self = getpid();

	l->child.program = l->program;
	l->child.argv = l->argv.word;
	l->child.env = l->env.word;
	l->child.parent = self;
	box->start_ns = kf_now_ns();
	box->pid = fork();
	if (box->pid < 0)
		return kf_fail_errno(err, "cannot start %s", l->program);
	if (box->pid == 0) {
		if (l->child.confine)
			kf_keeper_run(&l->child, l->pipe[STATUS][1], self,
				      box->tmp_path);
		kf_child_become(&l->child);
	}
	box->pid_fd = (int)syscall(SYS_pidfd_open, box->pid, 0);
	for (size_t i = 0; i < KF_COUNT(l->pipe); i++)
		close_fd(&l->pipe[i][1]);
	close_fd(&l->gate[0]);
	if (started(l->pipe[REPORT][0], &trouble)) {
		take_fd(&l->pipe[OUT][0], &box->out_fd);
		take_fd(&l->pipe[ERROUT][0], &box->errout_fd);
		take_fd(&l->pipe[STATUS][0], &box->status_fd);
		return KF_OK;
	}
	waitpid(box->pid, &box->wait_status, 0);
	box->ended = true;
	trouble.step[sizeof(trouble.step) - 1] = '\0';
	return kf_fail(err, KF_E_UNAVAIL, "cannot start %s: %s: %s",
		       l->program, trouble.step, strerror(trouble.number));
}

/* bwrap reads the filter from the gate when everything is mounted, and waits
 * for its end: without it it fails, so if we die nothing is started. If it has
 * gone already it failed itself, and kf_sandbox_wait tells why. */
static enum kf_code send_filter(const struct launch *l, struct kf_err *err)
{
	const char *filter = l->filter;
	size_t sent = 0;

	while (sent < l->filter_bytes) {
		ssize_t put = send(l->gate[1], filter + sent,
				   l->filter_bytes - sent, MSG_NOSIGNAL);

		if (put < 0 && (errno == EPIPE || errno == ECONNRESET))
			return KF_OK;
		if (put < 0 && errno != EINTR)
			return kf_fail_errno(err, "cannot start the sandbox");
		sent += put > 0 ? (size_t)put : 0;
	}
	shutdown(l->gate[1], SHUT_WR);
	return KF_OK;
}

/* The kernel's wait for a group to take its first process in goes on while
 * bwrap mounts. */
static enum kf_code open_gate(const struct launch *l, struct kf_sandbox *box,
			      struct kf_err *err)
{
	enum kf_code code = KF_OK;

	kf_box_meet_init(box, MEET_NS);
	if (box->init && box->cgroup)
		code = kf_cgroup_enter(box->cgroup, box->init, err);
	if (code && (kf_box_init_ended(box) || kf_sandbox_ended(box)))
		code = KF_OK;	/* it failed before it could enter */
	return code ? code : send_filter(l, err);
}

static struct kf_sandbox *box_new(const struct kf_sandbox_spec *spec)
{
	struct kf_sandbox *box = kf_alloc(sizeof(*box));
	struct rusage own;

	if (getrusage(RUSAGE_SELF, &own))
		abort();
	*box = (struct kf_sandbox) {
		.profile = spec->profile,
		.limits = spec->limits,
		.cancel = spec->cancel,
		.pid_fd = -1,
		.init_fd = -1,
		.out_fd = -1,
		.errout_fd = -1,
		.status_fd = -1,
		.out.max = spec->output_max,
		.errout.max = spec->output_max,
		.status.max = 4096,
		.inherited_bytes = (uint64_t)own.ru_maxrss * 1024,
	};
	return box;
}

enum kf_code kf_sandbox_start(const struct kf_sandbox_spec *spec,
			      struct kf_sandbox **out, struct kf_err *err)
{
	struct kf_sandbox *box;
	struct launch l;
	enum kf_code code;

	*out = NULL;
	code = check(spec, err);
	if (code)
		return code;
	box = box_new(spec);
	code = launch_init(&l, spec, err);
	if (code)
		goto out;
	code = kf_tier_choose(spec, &box->tier, &box->cgroup, err);
	if (code)
		goto out;
	code = box->tier == KF_TIER_WEAK ? prepare_weak(&l, box, spec, err)
					 : prepare_bwrap(&l, spec, err);
	if (code)
		goto out;
	add_limits(&l.child, &spec->limits, box->tier);
	kf_room_init(box, spec);
	code = launch(&l, box, err);
	if (!code && box->tier != KF_TIER_WEAK)
		code = open_gate(&l, box, err);
out:
	launch_release(&l);
	if (code)
		kf_sandbox_free(box);
	else
		*out = box;
	return code;
}

enum kf_code kf_sandbox_run(const struct kf_sandbox_spec *spec,
			    struct kf_outcome *outcome, struct kf_err *err)
{
	struct kf_sandbox *box = NULL;
	enum kf_code code;

	*outcome = (struct kf_outcome) { 0 };
	code = kf_sandbox_start(spec, &box, err);
	if (!code)
		code = kf_sandbox_wait(box, outcome, err);
	kf_sandbox_free(box);
	return code;
}
