#include "evaluate/weaken.h"
#include "evaluate/worker_talk.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

static void sleep_on(atomic_uint *word, unsigned value, uint64_t ns)
{
	struct timespec slice = {
		.tv_sec = (time_t)(ns / KF_NS_PER_S),
		.tv_nsec = (long)(ns % KF_NS_PER_S),
	};

	syscall(SYS_futex, word, FUTEX_WAIT, value, &slice, NULL, 0);
}

/* On a busy machine a deadline is put off by as long as the process was ready
 * and waited for a processor, which is no fault of its own; but not for ever,
 * for a program may have its own threads wait for each other. */
#define LATEST	10u		/* times the deadline */

static bool is_late(const struct kf_worker *w, uint64_t took_ns,
		    uint64_t timeout_ns)
{
	uint64_t waited_ns;

	if (took_ns < timeout_ns)
		return false;
	if (took_ns / LATEST >= timeout_ns)
		return true;
	waited_ns = kf_threads_delay_ns(&w->pause.threads);
	waited_ns -= waited_ns < w->delay_ns ? waited_ns : w->delay_ns;
	return took_ns >= timeout_ns + waited_ns;
}

/* Sleeps until there is an answer: on a small machine a supervisor that spins
 * would take a processor from the candidate. */
static enum kf_wait wait_for_done(struct kf_worker *w, uint64_t start_ns,
				  uint64_t timeout_ns)
{
	atomic_uint *done = &kf_arena_reply(&w->arena)->done;
	unsigned want = w->sequence, before = want - 1;

	for (;;) {
		unsigned now = atomic_load(done);
		uint64_t took_ns, left_ns = KF_TALK_SLICE_NS;

		if (now == want)
			return KF_WAIT_ANSWERED;
		if (now != before)
			return KF_WAIT_BROKEN;
		took_ns = kf_now_ns() - start_ns;
		if (is_late(w, took_ns, timeout_ns))
			return KF_WAIT_LATE;
		if (took_ns < timeout_ns)
			left_ns = timeout_ns - took_ns;
		sleep_on(done, before, left_ns < KF_TALK_SLICE_NS ?
			 left_ns : KF_TALK_SLICE_NS);
		if (atomic_load(done) != before)
			continue;
		if (w->cancel && *w->cancel)
			return KF_WAIT_CANCELED;
		if (kf_sandbox_ended(w->box) && atomic_load(done) == before)
			return KF_WAIT_ENDED;
	}
}

void kf_talk_tell(struct kf_worker *w, enum kf_host_command command)
{
	struct kf_host_request *request = kf_arena_request(&w->arena);

	request->command = (uint32_t)command;
	atomic_store(&request->go, ++w->sequence);
	syscall(SYS_futex, &request->go, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	kf_pause_end(&w->pause);
}

/* To a device runner, which holds no code of the candidate's. */
static enum kf_wait transact_device(struct kf_worker *w,
				    enum kf_host_command command,
				    uint64_t timeout_ns, uint64_t *took_ns)
{
	uint64_t start_ns = kf_now_ns();
	enum kf_wait why;

	kf_talk_tell(w, command);
	why = wait_for_done(w, start_ns, timeout_ns);
	*took_ns = kf_now_ns() - start_ns;
	return why;
}

/*
 * One command and its answer. The process runs from the one to the other and
 * is paused before and after: what has not been done when the clock stops is
 * not done when the outputs are looked at, and what is written before the
 * clock starts is read only after. Whoever forges an answer, or leaves a thread
 * behind, gains nothing. *took_ns is from the first to the last of this.
 */
enum kf_wait kf_talk_transact(struct kf_worker *w, enum kf_host_command command,
			     uint64_t timeout_ns, uint64_t *took_ns)
{
	struct kf_host_request *request = kf_arena_request(&w->arena);
	uint64_t start_ns;
	enum kf_wait why;

	w->delay_ns = kf_threads_delay_ns(&w->pause.threads);
	if (w->driver->two_part || kf_weak(KF_WEAK_PAUSE))
		return transact_device(w, command, timeout_ns, took_ns);
	request->command = (uint32_t)command;
	start_ns = kf_now_ns();
	/* Nobody need be woken: the kernel looks at the word again when a
	 * process goes on that was paused while it waited. */
	atomic_store(&request->go, ++w->sequence);
	kf_pause_end(&w->pause);
	why = wait_for_done(w, start_ns, timeout_ns);
	kf_pause_begin(&w->pause);
	*took_ns = kf_now_ns() - start_ns;
	if (why == KF_WAIT_ANSWERED && !kf_pause_settle(&w->pause))
		why = KF_WAIT_LATE;
	return why;
}

/* --- its end ------------------------------------------------------------ */

enum kf_code kf_talk_bury(struct kf_worker *w, bool ended,
			 struct kf_outcome *outcome, struct kf_err *err)
{
	enum kf_code code;

	w->dead = true;
	code = ended ? kf_sandbox_wait(w->box, outcome, err)
		     : kf_sandbox_kill(w->box, outcome, err);
	w->tier = outcome->tier;
	w->memory_bytes_peak = outcome->memory_bytes_peak;
	return code;
}

/* Have kernels run in the runner's process, so that what it says or does not
 * say may be theirs? */
static bool kernels_shared_it(const struct kf_worker *w)
{
	return w->in_process && w->has_run;
}

/* Can the candidate not be blamed for this? Where nothing of it runs in the
 * process, it can for a call that does not end. */
static bool blameless(const struct kf_worker *w, enum kf_wait why,
		      enum kf_host_command command)
{
	bool calling = command == KF_HOST_PREPARE || command == KF_HOST_FORWARD;

	if (!w->driver->two_part || kernels_shared_it(w))
		return false;
	return why == KF_WAIT_LATE ? !calling : !w->in_process;
}

/* What a kernel that shares its runner's process did to it. */
static void blame_kernel(struct kf_call_end *end)
{
	if (end->state == KF_CALL_SIGNAL || end->state == KF_CALL_EXITED)
		end->state = KF_CALL_DEVICE_FAULT;
}

enum kf_code kf_talk_fail(struct kf_worker *w, enum kf_wait why,
			 enum kf_host_command command, uint64_t timeout_ns,
			 struct kf_call_end *end, struct kf_err *err)
{
	struct kf_host_fault fault = kf_arena_reply(&w->arena)->fault;
	char doing[64];
	const struct kf_end_about about = {
		w->driver->two_part ? "a kernel" : "the program",
		doing, &w->arena, timeout_ns,
	};
	struct kf_outcome outcome = { 0 };
	enum kf_code code = kf_talk_bury(w, why == KF_WAIT_ENDED, &outcome,
					 err);

	kf_worker_doing(w->driver, command, doing);
	fault.text[sizeof(fault.text) - 1] = '\0';
	if (!code && (why == KF_WAIT_CANCELED ||
		      (why == KF_WAIT_ENDED && outcome.end == KF_END_CANCELED)))
		code = kf_fail(err, KF_E_CANCELED, "stopped");
	if (!code)
		kf_worker_explain(why, &about, &outcome, &fault, end);
	if (why == KF_WAIT_LATE)
		end->wall_ns = timeout_ns;
	if (!code && blameless(w, why, command))
		code = kf_fail(err, KF_E_IO, "the device runner failed: %s",
			       end->text);
	if (!code && w->driver->two_part)
		blame_kernel(end);
	kf_outcome_release(&outcome);
	return code;
}

void kf_talk_text(const struct kf_worker *w, char *out, size_t size)
{
	struct kf_buf clean = { .max = size - 1 };
	char copy[sizeof(kf_arena_reply(&w->arena)->text)];

	memcpy(copy, kf_arena_reply(&w->arena)->text, sizeof(copy));
	kf_utf8_clean(copy, strnlen(copy, sizeof(copy)), &clean);
	snprintf(out, size, "%s", kf_buf_str(&clean));
	kf_buf_release(&clean);
}

enum kf_code kf_talk_trouble(struct kf_worker *w, uint32_t code,
				   enum kf_host_command command,
				   struct kf_call_end *end, struct kf_err *err)
{
	bool shared = w->driver->in_process || kernels_shared_it(w);
	bool of_profile = w->traced && code == KF_E_IO;
	char text[512];

	if (shared && !of_profile && !kf_worker_may_say(w->driver, code))
		return kf_talk_fail(w, KF_WAIT_BROKEN, command, 0, end, err);
	kf_talk_text(w, text, sizeof(text));
	kf_worker_stop(w);
	if (shared && !of_profile) {
		end->device_trouble = true;
		end->state = code == KF_E_LIMIT ? KF_CALL_MEMORY :
			KF_CALL_DEVICE_FAULT;
		snprintf(end->text, sizeof(end->text), "%s", text);
		return KF_OK;
	}
	return kf_fail(err, code <= KF_E_CANCELED ? (enum kf_code)code
			: KF_E_IO, "the runner: %s", text);
}
