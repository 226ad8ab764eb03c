#include "sandbox/box.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define WATCH_MS 10		/* how late a limit or a cancel may be seen */
#define KEEPER_NS (60 * KF_NS_PER_S)	/* for the keeper to end its tree */
#define SIGNAL_MAX 64

static const char *const names[] = {
	[KF_END_NONE] = "none",
	[KF_END_EXITED] = "exited",
	[KF_END_SIGNAL] = "signal",
	[KF_END_WALL] = "wall time",
	[KF_END_CPU] = "processor time",
	[KF_END_MEMORY] = "memory",
	[KF_END_FILES] = "files",
	[KF_END_VIOLATION] = "violation",
	[KF_END_CANCELED] = "canceled",
};

/* Signals that mean more than a crash. */
static const struct {
	int signal;
	enum kf_end end;
	const char *detail;
} meanings[] = {
	{ SIGSYS, KF_END_VIOLATION, "made a forbidden system call" },
	{ SIGXCPU, KF_END_CPU, "used up its processor time" },
	{ SIGXFSZ, KF_END_SIGNAL, "wrote a larger file than allowed" },
};

const char *kf_end_name(enum kf_end end)
{
	return names[end];
}

void kf_outcome_release(struct kf_outcome *outcome)
{
	kf_buf_release(&outcome->out);
	kf_buf_release(&outcome->errout);
}

static void take_buf(struct kf_buf *from, struct kf_buf *to)
{
	*to = *from;
	*from = (struct kf_buf) { .max = from->max };
}

static void set_detail(struct kf_outcome *outcome, const char *text)
{
	snprintf(outcome->detail, sizeof(outcome->detail), "%s", text);
}

static void name_signal(struct kf_outcome *outcome, int number)
{
	outcome->end = KF_END_SIGNAL;
	outcome->signal = number;
	snprintf(outcome->detail, sizeof(outcome->detail),
		 "killed by signal %d (%s)", number, strsignal(number));
	for (size_t i = 0; i < KF_COUNT(meanings); i++)
		if (meanings[i].signal == number) {
			outcome->end = meanings[i].end;
			set_detail(outcome, meanings[i].detail);
		}
}

/* How it ended by itself; false if it never began. */
static bool read_end(const struct kf_sandbox *box, struct kf_outcome *outcome)
{
	int value;

	if (kf_box_status(box, "\"signal\":", &value)) {
		name_signal(outcome, value);
		return true;
	}
	if (!kf_box_status(box, "\"exit-code\":", &value))
		return false;
	if (box->tier != KF_TIER_WEAK && value > 128 &&
	    value <= 128 + SIGNAL_MAX) {
		name_signal(outcome, value - 128);
		return true;
	}
	outcome->end = KF_END_EXITED;
	outcome->exit_code = value;
	if (value)
		snprintf(outcome->detail, sizeof(outcome->detail),
			 "exited with code %d", value);
	return true;
}

/* bwrap ended before the program began: its words are the reason. */
static enum kf_code fail_setup(const struct kf_sandbox *box,
			       const struct kf_outcome *outcome,
			       struct kf_err *err)
{
	const char *words = kf_buf_str(&outcome->errout);
	int len = (int)strcspn(words, "\n");

	if (len)
		return kf_fail(err, KF_E_UNAVAIL,
			       "cannot make the sandbox: %.*s; where "
			       "namespaces are refused, --sandbox=weak goes "
			       "on without them", len, words);
	if (WIFSIGNALED(box->wait_status))
		return kf_fail(err, KF_E_UNAVAIL, "the sandbox was ended by "
			       "signal %d", WTERMSIG(box->wait_status));
	return kf_fail(err, KF_E_UNAVAIL, "the sandbox ended with code %d "
		       "before its program began",
		       WEXITSTATUS(box->wait_status));
}

static uint64_t time_ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * KF_NS_PER_S + (uint64_t)t.tv_usec * 1000;
}

static void read_use(const struct kf_sandbox *box, struct kf_outcome *outcome)
{
	uint64_t reaped_ns = time_ns(box->rusage.ru_utime) +
			     time_ns(box->rusage.ru_stime);
	uint64_t reaped_bytes = (uint64_t)box->rusage.ru_maxrss * 1024;

	if (box->cgroup) {
		outcome->cpu_ns = box->use.cpu_ns;
		outcome->memory_bytes_peak = box->use.memory_bytes_peak;
		return;
	}
	outcome->cpu_ns = box->usage.cpu_ns > reaped_ns ? box->usage.cpu_ns
							: reaped_ns;
	outcome->memory_bytes_peak = box->usage.memory_bytes_peak;
	/* The largest single process counts where no sample caught it, but
	 * for what it was before it became the program: a copy of us. */
	if (reaped_bytes > box->inherited_bytes &&
	    reaped_bytes > outcome->memory_bytes_peak)
		outcome->memory_bytes_peak = reaped_bytes;
}

enum kf_code kf_box_outcome(struct kf_sandbox *box, struct kf_outcome *outcome,
			    struct kf_err *err)
{
	bool began;

	outcome->tier = box->tier;
	outcome->took_ns = box->took_ns;
	outcome->truncated = box->truncated;
	take_buf(&box->out, &outcome->out);
	take_buf(&box->errout, &outcome->errout);
	read_use(box, outcome);
	if (box->stuck)
		return kf_fail(err, KF_E_UNAVAIL, "a process of the sandbox "
			       "cannot be killed; it may hang in a driver");
	began = read_end(box, outcome);
	if (box->end) {
		outcome->end = box->end;
		set_detail(outcome, box->detail);
	} else if (box->use.memory_kills) {
		outcome->end = KF_END_MEMORY;
		snprintf(outcome->detail, sizeof(outcome->detail),
			 "used more than %lu MiB of memory",
			 (unsigned long)(box->limits.memory_bytes >> 20));
	} else if (!began) {
		return fail_setup(box, outcome, err);
	} else if (outcome->signal == SIGKILL &&
		   outcome->cpu_ns >= box->limits.cpu_ns) {
		outcome->end = KF_END_CPU;	/* the hard limit's signal */
		set_detail(outcome, "used up its processor time");
	}
	return KF_OK;
}

enum kf_code kf_sandbox_wait(struct kf_sandbox *box, struct kf_outcome *outcome,
			     struct kf_err *err)
{
	uint64_t stopped_ns = 0;

	*outcome = (struct kf_outcome) { 0 };
	while (!box->ended) {
		kf_box_watch(box, WATCH_MS);
		if (!box->end)
			continue;
		if (!stopped_ns)
			stopped_ns = kf_now_ns();
		if (kf_now_ns() - stopped_ns < KEEPER_NS)
			continue;
		kill(box->pid, SIGKILL);
		return kf_fail(err, KF_E_UNAVAIL, "a process of the sandbox "
			       "cannot be killed; it may hang in a driver");
	}
	kf_box_sweep(box);
	return kf_box_outcome(box, outcome, err);
}

void kf_sandbox_doom(struct kf_sandbox *box)
{
	kf_box_watch(box, 0);
	kf_box_stop(box, KF_END_CANCELED, "stopped by kforge");
}

enum kf_code kf_sandbox_kill(struct kf_sandbox *box, struct kf_outcome *outcome,
			     struct kf_err *err)
{
	kf_sandbox_doom(box);
	return kf_sandbox_wait(box, outcome, err);
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void kf_sandbox_free(struct kf_sandbox *box)
{
	struct kf_outcome outcome;

	if (!box)
		return;
	if (box->pid > 0 && !box->ended) {
		(void)kf_sandbox_kill(box, &outcome, NULL);
		kf_outcome_release(&outcome);
	}
	close_fd(box->pid_fd);
	close_fd(box->init_fd);
	close_fd(box->out_fd);
	close_fd(box->errout_fd);
	close_fd(box->status_fd);
	kf_cgroup_free(box->cgroup);
	kf_room_release(box);
	if (box->tmp_path)
		(void)kf_remove_tree(box->tmp_path, NULL);
	free(box->tmp_path);
	kf_buf_release(&box->out);
	kf_buf_release(&box->errout);
	kf_buf_release(&box->status);
	free(box);
}
