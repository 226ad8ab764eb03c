#include "sandbox/child.h"
#include "base/syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/seccomp.h>

#define FD_WALK_MAX 65536	/* where close_range does not exist */

static _Noreturn void give_up(int report_fd, const char *step)
{
	struct kf_child_trouble trouble = { .number = errno };

	for (size_t i = 0; step[i] && i + 1 < sizeof(trouble.step); i++)
		trouble.step[i] = step[i];
	if (write(report_fd, &trouble, sizeof(trouble)) < 0)
		_exit(126);
	_exit(127);
}

void kf_child_limit(struct kf_child *child, int resource, uint64_t soft,
		    uint64_t hard)
{
	struct rlimit old;
	rlim_t most = RLIM_INFINITY;

	/* What we may not raise we leave lower. */
	if (getrlimit((__rlimit_resource_t)resource, &old) == 0)
		most = old.rlim_max;
	child->rlimit[child->rlimit_count].resource = resource;
	child->rlimit[child->rlimit_count].value = (struct rlimit) {
		.rlim_cur = soft < most ? soft : most,
		.rlim_max = hard < most ? hard : most,
	};
	child->rlimit_count++;
}

void kf_child_reset_signals(void)
{
	struct sigaction plain = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		sigaction(i, &plain, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Marks everything from 3 up to be closed by exec. */
static void close_on_exec(void)
{
	if (syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC) == 0)
		return;
	for (int fd = 3; fd < FD_WALK_MAX; fd++)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* Root without capabilities is a user who owns root's files; exec must not
 * give them back. Does nothing to other users, who have none to lose. */
static bool drop_capabilities(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct none[2] = { { 0 } };

	if (geteuid() == 0) {
		if (prctl(PR_SET_SECUREBITS, SECURE_ALL_BITS | SECURE_ALL_LOCKS,
			  0, 0, 0))
			return false;
		for (unsigned long cap = 0; cap < 64; cap++)
			prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	}
	return syscall(SYS_capset, &head, none) == 0;
}

/* Descriptors to their numbers, by way of copies above them all: a source may
 * have the number that another one is to get. Returns report_fd's copy. */
static int place(const struct kf_child *child)
{
	int copy[KF_CHILD_FD_MAX + 4], above = 3;
	size_t n = child->fd_count;
	int report;

	for (size_t i = 0; i < n; i++)
		if (child->fd[i].target >= above)
			above = child->fd[i].target + 1;
	report = fcntl(child->report_fd, F_DUPFD_CLOEXEC, above);
	if (report < 0)
		give_up(child->report_fd, "descriptors");
	for (size_t i = 0; i < n; i++)
		copy[i] = fcntl(child->fd[i].source, F_DUPFD_CLOEXEC, above);
	copy[n] = fcntl(child->in, F_DUPFD_CLOEXEC, above);
	copy[n + 1] = fcntl(child->out, F_DUPFD_CLOEXEC, above);
	copy[n + 2] = fcntl(child->errout, F_DUPFD_CLOEXEC, above);
	copy[n + 3] = child->landlock_fd < 0 ? -1 :
		fcntl(child->landlock_fd, F_DUPFD_CLOEXEC, above);
	for (size_t i = 0; i < 3; i++)
		if (dup2(copy[n + i], (int)i) < 0)
			give_up(report, "descriptors");
	close_on_exec();
	for (size_t i = 0; i < n; i++)
		if (dup2(copy[i], child->fd[i].target) < 0)
			give_up(report, "descriptors");
	if (!child->confine)
		return report;
	if (!drop_capabilities())
		give_up(report, "capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		give_up(report, "no new privileges");
	if (copy[n + 3] >= 0 &&
	    syscall(SYS_landlock_restrict_self, copy[n + 3], 0))
		give_up(report, "landlock");
	return report;
}

void kf_child_become(const struct kf_child *child)
{
	int report;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != child->parent)
		_exit(127);
	/* Its own session: Ctrl-C at the terminal is the supervisor's. */
	setsid();
	kf_child_reset_signals();
	umask(022);
	/* Paths of the working folder are still those of the machine here. */
	if (child->cwd && chdir(child->cwd))
		give_up(child->report_fd, child->cwd);
	report = place(child);
	for (size_t i = 0; i < child->rlimit_count; i++)
		if (setrlimit((__rlimit_resource_t)child->rlimit[i].resource,
			      &child->rlimit[i].value))
			give_up(report, "setrlimit");
	if (child->confine &&
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &child->filter))
		give_up(report, "seccomp");
	execve(child->program, child->argv, child->env);
	give_up(report, "exec");
}
