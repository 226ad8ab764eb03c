#include "evaluate/pause.h"
#include "base/syscalls.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "evaluate/weaken.h"

#define SETTLE_NS	(10 * KF_NS_PER_S)	/* a busy machine */
#define LOOK_NS		20000		/* before each look, which costs more */
#define SLACK_NS	1000ul		/* how late the kernel may wake us */

void kf_pause_init(struct kf_pause *pause, pid_t pid)
{
	*pause = (struct kf_pause) { .pid = pid, .fd = -1 };
	prctl(PR_SET_TIMERSLACK, SLACK_NS);
	kf_threads_init(&pause->threads, pid);
	if (pid)
		pause->fd = (int)syscall(SYS_pidfd_open, pid, 0);
}

void kf_pause_release(struct kf_pause *pause)
{
	if (pause->fd >= 0)
		close(pause->fd);
	kf_threads_release(&pause->threads);
	*pause = (struct kf_pause) { .fd = -1 };
}

static bool send(const struct kf_pause *pause, int signal)
{
	long rc = !pause->pid ? 0 : pause->fd >= 0
		? syscall(SYS_pidfd_send_signal, pause->fd, signal, NULL, 0)
		: kill(pause->pid, signal);

	return rc == 0 || errno == ESRCH;
}

bool kf_pause_begin(struct kf_pause *pause)
{
	return kf_weak(KF_WEAK_PAUSE) || send(pause, SIGSTOP);
}

void kf_pause_end(struct kf_pause *pause)
{
	(void)send(pause, SIGCONT);
}

bool kf_pause_settle(struct kf_pause *pause)
{
	struct timespec wait = { .tv_nsec = LOOK_NS };
	uint64_t deadline_ns = kf_now_ns() + SETTLE_NS;

	if (kf_weak(KF_WEAK_PAUSE))
		return true;
	do {
		if (kf_now_ns() > deadline_ns)
			return false;
		nanosleep(&wait, NULL);
	} while (!kf_threads_stand(&pause->threads));
	return true;
}
