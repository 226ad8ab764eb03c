/*
 * The thread that is called is held up in the middle of a call: a timer sends
 * it a signal, and it sleeps for a moment while the others go on, so that they
 * come first. On a busy machine they may get no processor in that moment: so it
 * sleeps on until they have worked. A program that blocks the signal, or takes
 * it for itself, keeps nothing from being found but its own faults.
 */
#include "runner/runner.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A handler has no argument of ours. */
static struct kf_host_reply *told;
static volatile sig_atomic_t inside;	/* the program */

/* Of all threads of this process; while one sleeps, of the others. */
static uint64_t worked_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * KF_NS_PER_S + (uint64_t)t.tv_nsec;
}

static void on_hold(int signal)
{
	const struct timespec moment = { .tv_nsec = (long)KF_HOST_HOLD_NS };
	const int kept = errno;
	const uint64_t before_ns = worked_ns();

	(void)signal;
	if (!inside)
		return;
	told->held = 1;
	for (uint64_t slept_ns = 0; slept_ns < KF_HOST_HOLD_MOST_NS;
	     slept_ns += KF_HOST_HOLD_NS) {
		nanosleep(&moment, NULL);
		if (worked_ns() - before_ns >= KF_HOST_HOLD_WORK_NS)
			break;
	}
	errno = kept;
}

void kf_serve_can_hold(struct kf_serve *s)
{
	struct sigaction action = { .sa_flags = SA_RESTART | SA_ONSTACK };
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD_ID,
		.sigev_signo = KF_HOST_HOLD_SIGNAL,
	};

	told = s->reply;
	action.sa_handler = on_hold;
	sigemptyset(&action.sa_mask);
	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	s->holds = sigaction(KF_HOST_HOLD_SIGNAL, &action, NULL) == 0 &&
		timer_create(CLOCK_MONOTONIC, &event, &s->hold) == 0;
}

static void set(const struct kf_serve *s, uint64_t after_ns)
{
	const struct itimerspec when = {
		.it_value.tv_sec = (time_t)(after_ns / KF_NS_PER_S),
		.it_value.tv_nsec = (long)(after_ns % KF_NS_PER_S),
	};

	timer_settime(s->hold, 0, &when, NULL);
}

enum kf_code kf_serve_forward_held(struct kf_serve *s, struct kf_err *err)
{
	uint64_t after_ns = s->holds ? s->tensors.request->hold_after_ns : 0;
	enum kf_code code;

	s->reply->held = 0;
	if (!after_ns)
		return kf_serve_forward(s, err);
	set(s, after_ns);
	inside = 1;
	code = kf_serve_forward(s, err);
	inside = 0;
	set(s, 0);
	return code;
}
