#include "sandbox/box.h"
#include "base/syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_NS (10 * KF_NS_PER_MS)	/* between two looks at limits */
#define GO_ON_NS 20000			/* between two looks at what just began */
#define DRAIN_ROUNDS 64			/* chunks of output taken at a time */
#define SWEEP_NS (60 * KF_NS_PER_S)	/* for the dying to be dead: on a busy
					   machine hundreds take their time */

/* Reads what is there; closes *fd at the end of the stream. What does not fit
 * is dropped, so that the program never waits for us. */
static void drain(int *fd, struct kf_buf *into, bool *truncated)
{
	char chunk[65536];

	for (unsigned i = 0; *fd >= 0 && i < DRAIN_ROUNDS; i++) {
		ssize_t got = read(*fd, chunk, sizeof(chunk));

		if (got > 0) {
			if (!kf_buf_add(into, chunk, (size_t)got))
				*truncated = true;
			continue;
		}
		if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
			close(*fd);
			*fd = -1;
		}
		return;
	}
}

bool kf_box_status(const struct kf_sandbox *box, const char *key, int *value)
{
	const char *at = strstr(kf_buf_str(&box->status), key);

	return at && sscanf(at + strlen(key), "%d", value) == 1;
}

/* A handle on the first process of the namespace as soon as it is known: when
 * that one is gone, the kernel has killed all the others. bwrap writes the line
 * in pieces, and lets that process go on right after the last of them. */
static void find_init(struct kf_sandbox *box)
{
	int pid;

	if (box->init || !strchr(kf_buf_str(&box->status), '\n') ||
	    !kf_box_status(box, "\"child-pid\":", &pid))
		return;
	box->init = pid;
	box->init_fd = (int)syscall(SYS_pidfd_open, pid, 0);
}

static void drain_all(struct kf_sandbox *box)
{
	drain(&box->out_fd, &box->out, &box->truncated);
	drain(&box->errout_fd, &box->errout, &box->truncated);
	drain(&box->status_fd, &box->status, &(bool) { false });
	find_init(box);
}

/* bwrap itself may take a while to notice, and then to end. */
bool kf_box_init_ended(const struct kf_sandbox *box)
{
	if (box->init_fd >= 0)
		return kf_wait_readable(box->init_fd, 0);
	return kill(box->init, 0) != 0 && errno == ESRCH;
}

/* Its first deed is to say who it is in its namespace. Where that is no longer
 * to be seen it is gone. */
static bool init_waits(const struct kf_sandbox *box)
{
	char path[64], byte;
	bool waits;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/uid_map", box->init);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	waits = read(fd, &byte, 1) == 0;
	close(fd);
	return waits;
}

/* bwrap lets its first process go on right after it has told us of it. If we,
 * and so bwrap, are killed in between, that one waits for ever: nothing is done
 * until it has gone on, or either has ended. Of a setuid bwrap, which writes
 * the map itself before that, it cannot be seen. */
static void see_init_off(const struct kf_sandbox *box, uint64_t deadline_ns)
{
	const struct timespec pause = { .tv_nsec = GO_ON_NS };
	struct pollfd p[] = {
		{ .fd = box->pid_fd, .events = POLLIN },
		{ .fd = box->init_fd, .events = POLLIN },
	};

	while (init_waits(box) && kf_now_ns() < deadline_ns)
		if (ppoll(p, KF_COUNT(p), &pause, NULL) > 0)
			return;
}

void kf_box_meet_init(struct kf_sandbox *box, uint64_t timeout_ns)
{
	uint64_t deadline_ns = kf_now_ns() + timeout_ns;

	while (!box->init && box->status_fd >= 0 &&
	       kf_now_ns() < deadline_ns) {
		struct pollfd p = { .fd = box->status_fd, .events = POLLIN };

		poll(&p, 1, (int)(timeout_ns / KF_NS_PER_MS));
		drain(&box->status_fd, &box->status, &(bool) { false });
		find_init(box);
	}
	if (box->init)
		see_init_off(box, deadline_ns);
}

/* bwrap arranges that its tree dies with it, but late: until then killing it
 * alone would leave the first process behind. */
static void kill_namespace(const struct kf_sandbox *box)
{
	if (box->init_fd >= 0)
		syscall(SYS_pidfd_send_signal, box->init_fd, SIGKILL, NULL, 0);
	else if (box->init)
		kill(box->init, SIGKILL);
	kill(box->pid, SIGKILL);
}

void kf_box_stop(struct kf_sandbox *box, enum kf_end why,
		 const char *detail, ...)
{
	va_list ap;

	if (box->ended || box->end)
		return;
	box->end = why;
	va_start(ap, detail);
	vsnprintf(box->detail, sizeof(box->detail), detail, ap);
	va_end(ap);
	if (box->tier == KF_TIER_WEAK)
		kill(box->pid, SIGTERM);	/* the keeper does the rest */
	else
		kill_namespace(box);
}

static void look_at_cgroup(struct kf_sandbox *box)
{
	box->cpu_ns = kf_cgroup_cpu_ns(box->cgroup);
}

static void look_at_tree(struct kf_sandbox *box)
{
	const struct kf_limits *limits = &box->limits;

	kf_usage_sample(&box->usage, box->pid);
	box->cpu_ns = box->usage.cpu_ns;
	if (box->usage.memory_bytes > limits->memory_bytes)
		kf_box_stop(box, KF_END_MEMORY,
			    "used more than %lu MiB of memory",
			    (unsigned long)(limits->memory_bytes >> 20));
	else if (box->usage.tasks > limits->processes + 2)
		kf_box_stop(box, KF_END_VIOLATION,
			    "had %u processes and threads, more than %u",
			    box->usage.tasks, limits->processes);
}

static void enforce(struct kf_sandbox *box)
{
	uint64_t now_ns = kf_now_ns();

	if (box->cancel && *box->cancel)
		kf_box_stop(box, KF_END_CANCELED, "stopped by the user");
	if (now_ns - box->start_ns > box->limits.wall_ns)
		kf_box_stop(box, KF_END_WALL, "ran longer than %.3g s",
			    (double)box->limits.wall_ns / 1e9);
	if (now_ns - box->look_ns < LOOK_NS)
		return;
	if (box->cgroup)
		look_at_cgroup(box);
	else
		look_at_tree(box);
	kf_room_look(box, false);
	box->look_ns = kf_now_ns();
	if (box->cpu_ns > box->limits.cpu_ns)
		kf_box_stop(box, KF_END_CPU,
			    "used more than %.3g s of processor time",
			    (double)box->limits.cpu_ns / 1e9);
}

static void notice_end(struct kf_sandbox *box)
{
	pid_t got = wait4(box->pid, &box->wait_status, WNOHANG, &box->rusage);

	if (got == 0 || (got < 0 && errno == EINTR))
		return;
	box->ended = true;
	box->took_ns = kf_now_ns() - box->start_ns;
}

void kf_box_watch(struct kf_sandbox *box, int timeout_ms)
{
	struct pollfd p[] = {
		{ .fd = box->pid_fd, .events = POLLIN },
		{ .fd = box->out_fd, .events = POLLIN },
		{ .fd = box->errout_fd, .events = POLLIN },
		{ .fd = box->status_fd, .events = POLLIN },
	};

	if (box->ended)
		return;
	poll(p, KF_COUNT(p), timeout_ms);
	if (p[1].revents || p[2].revents || p[3].revents)
		drain_all(box);
	/* A kernel without pidfd_open (before 5.3) is asked every time. */
	if (p[0].revents || box->pid_fd < 0)
		notice_end(box);
	if (!box->ended)
		enforce(box);
}

/* True once the namespace is empty. Its first process is bwrap's child, and
 * ours if bwrap was killed and we adopt orphans (orphans.h). */
static bool wait_init(const struct kf_sandbox *box)
{
	bool empty = box->init_fd < 0 ||
		kf_wait_readable(box->init_fd, SWEEP_NS);
	siginfo_t about;

	if (box->init_fd >= 0)
		waitid(P_PIDFD, (id_t)box->init_fd, &about, WEXITED | WNOHANG);
	return empty;
}

void kf_box_sweep(struct kf_sandbox *box)
{
	if (box->swept || !box->ended)
		return;
	box->swept = true;
	/* The normal case leaves nothing to do; the order is: the kernel ends
	 * the namespace, then whatever the group still has is killed. */
	if (!wait_init(box))
		box->stuck = true;
	if (box->cgroup && !kf_cgroup_kill(box->cgroup, SWEEP_NS))
		box->stuck = true;
	drain_all(box);
	kf_room_look(box, true);
	if (box->cgroup)
		kf_cgroup_read(box->cgroup, &box->use);
}

enum kf_code kf_sandbox_new_output(struct kf_sandbox *box, int write_fd[2],
				   struct kf_err *err)
{
	int *const read_fd[2] = { &box->out_fd, &box->errout_fd };
	int fd[2];

	write_fd[0] = write_fd[1] = -1;
	kf_buf_release(&box->out);
	kf_buf_release(&box->errout);
	box->truncated = false;
	for (size_t i = 0; i < 2; i++) {
		if (pipe2(fd, O_CLOEXEC))
			return kf_fail_errno(err, "cannot make a pipe");
		fcntl(fd[0], F_SETFL, O_NONBLOCK);
		if (*read_fd[i] >= 0)
			close(*read_fd[i]);
		*read_fd[i] = fd[0];
		write_fd[i] = fd[1];
	}
	return KF_OK;
}

unsigned kf_sandbox_processes(const struct kf_sandbox *box)
{
	return box->ended ? 0 : kf_usage_processes(box->pid);
}

bool kf_sandbox_ended(struct kf_sandbox *box)
{
	kf_box_watch(box, 0);
	return box->ended;
}

bool kf_sandbox_watch(struct kf_sandbox *const *box, size_t count,
		      int timeout_ms)
{
	bool all = true;

	for (size_t i = 0; i < count; i++) {
		kf_box_watch(box[i], all ? timeout_ms : 0);
		all = all && box[i]->ended;
	}
	return all;
}
