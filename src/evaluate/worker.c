#include "evaluate/worker.h"

#include <unistd.h>

#include "evaluate/nursery.h"
#include "evaluate/weaken.h"
#include "evaluate/worker_talk.h"

#define LATE_NS		(50 * KF_NS_PER_MS)	/* for work that was put off */
#define MOVE_NS_PER_BYTE 20u		/* for UPLOAD and DOWNLOAD, beside it */
/* Where kernels run in the runner's process a vendor's compiler may put off its
 * work to their first launch; and a library of Python's its loading, or its
 * threads, to their first use. */
#define FIRST_NS	(20 * KF_NS_PER_S)

/* --- calls -------------------------------------------------------------- */

/* The driver's word on what a program did wrong: its process is of no more use.
 * Where the program shares the process with the word it can take it back, or
 * spoil its own verdict. */
static void take_fault(struct kf_worker *w, struct kf_call_end *end)
{
	bool may = w->driver->attach || w->driver->fault;

	if (!may || !kf_arena_reply(&w->arena)->faulted)
		return;
	if (!w->driver->attach && kf_weak(KF_WEAK_SCRATCH))
		return;
	end->state = w->driver->attach ? KF_CALL_DEVICE_FAULT :
		KF_CALL_BOUNDS;
	kf_talk_text(w, end->text, sizeof(end->text));
	kf_worker_stop(w);
}

/* What the runner in Python says of the program. */
static void take_python_end(struct kf_worker *w, struct kf_call_end *end)
{
	int rc = kf_arena_reply(&w->arena)->rc;

	if (!w->driver->python || rc == KF_PYTHON_GOOD)
		return;
	end->state = kf_worker_python_state(w->driver, rc);
	end->device_trouble = kf_worker_python_trouble(w->driver, end->state);
	kf_talk_text(w, end->text, sizeof(end->text));
	kf_worker_stop(w);
}

enum kf_code kf_worker_tidy(struct kf_worker *w, struct kf_call_end *end,
			    struct kf_err *err)
{
	uint64_t took_ns;
	enum kf_wait why;

	*end = (struct kf_call_end) { .state = KF_CALL_GOOD };
	if (w->dead)
		return kf_fail(err, KF_E_INPUT, "the worker has ended");
	if (!w->untidy)
		return KF_OK;
	w->untidy = false;
	why = kf_talk_transact(w, KF_HOST_TIDY, KF_TALK_BETWEEN_NS, &took_ns);
	if (why != KF_WAIT_ANSWERED)
		return kf_talk_fail(w, why, KF_HOST_TIDY, KF_TALK_BETWEEN_NS,
				    end, err);
	take_fault(w, end);
	return KF_OK;
}

/* Time for all of the shared memory to go one way. */
static uint64_t move_timeout_ns(const struct kf_worker *w)
{
	uint64_t bytes = w->arena.inputs.bytes + w->arena.outputs.bytes;

	return KF_TALK_BETWEEN_NS + MOVE_NS_PER_BYTE * bytes;
}

/* UPLOAD or DOWNLOAD: trouble with it is ours, unless the driver finds that the
 * program is to blame. */
static enum kf_code move(struct kf_worker *w, enum kf_host_command command,
			 struct kf_call_end *end, struct kf_err *err)
{
	uint64_t timeout_ns = move_timeout_ns(w), took_ns;
	enum kf_wait why;
	uint32_t trouble;

	*end = (struct kf_call_end) { .state = KF_CALL_GOOD };
	if (w->dead)
		return kf_fail(err, KF_E_INPUT, "the worker has ended");
	why = kf_talk_transact(w, command, timeout_ns, &took_ns);
	if (why != KF_WAIT_ANSWERED)
		return kf_talk_fail(w, why, command, timeout_ns, end, err);
	trouble = kf_arena_reply(&w->arena)->code;
	if (trouble)
		return kf_talk_trouble(w, trouble, command, end, err);
	take_fault(w, end);
	take_python_end(w, end);
	return KF_OK;
}

enum kf_code kf_worker_upload(struct kf_worker *w, struct kf_call_end *end,
			      struct kf_err *err)
{
	*end = (struct kf_call_end) { .state = KF_CALL_GOOD };
	return kf_driver_moves(w->driver) ?
		move(w, KF_HOST_UPLOAD, end, err) : KF_OK;
}

static enum kf_code move_back(struct kf_worker *w,
			      enum kf_host_command command,
			      struct kf_call_end *end, struct kf_err *err)
{
	struct kf_call_end moved = { .state = KF_CALL_GOOD };
	enum kf_code code = move(w, command, &moved, err);

	if (!code && moved.state != KF_CALL_GOOD)
		*end = moved;
	return code;
}

enum kf_code kf_worker_download(struct kf_worker *w, struct kf_call_end *end,
				struct kf_err *err)
{
	if (w->arena.summed)
		kf_arena_make_outputs(&w->arena);
	return kf_driver_moves(w->driver) ?
		move_back(w, KF_HOST_DOWNLOAD, end, err) : KF_OK;
}

bool kf_worker_makes_any(const struct kf_worker *w)
{
	return w->arena.made != NULL;
}

bool kf_worker_makes(const struct kf_worker *w, size_t i)
{
	return w->arena.made && w->arena.made[i];
}

bool kf_worker_lacks_bases(const struct kf_worker *w)
{
	return w->arena.made && !w->has_bases;
}

enum kf_code kf_worker_give(struct kf_worker *w, const struct kf_bundle *bundle,
			    struct kf_call_end *end, struct kf_err *err)
{
	enum kf_code code = KF_OK;

	*end = (struct kf_call_end) { .state = KF_CALL_GOOD };
	for (size_t i = 0; i < bundle->in_count; i++) {
		size_t done = 0, whole = bundle->in[i].bytes;

		while (kf_worker_makes(w, i) && done < whole && !code &&
		       end->state == KF_CALL_GOOD) {
			done += kf_arena_give(&w->arena, bundle, i, done);
			code = move(w, KF_HOST_BASE, end, err);
		}
	}
	kf_arena_given(&w->arena);
	w->has_bases = !code && end->state == KF_CALL_GOOD;
	return code;
}

enum kf_code kf_worker_make(struct kf_worker *w, const struct kf_bundle *bundle,
			    const struct kf_case *kase,
			    struct kf_call_end *end, struct kf_err *err)
{
	enum kf_code code;

	if (!w->arena.made)
		return kf_worker_upload(w, end, err);
	kf_arena_ask_made(&w->arena, bundle, kase);
	code = move(w, KF_HOST_MAKE, end, err);
	kf_arena_unask_made(&w->arena);
	return code;
}

bool kf_worker_sums(const struct kf_worker *w)
{
	return w->arena.summed;
}

enum kf_code kf_worker_sum(struct kf_worker *w, const struct kf_digest *digest,
			   struct kf_call_end *end, struct kf_err *err)
{
	enum kf_code code;

	kf_arena_ask(&w->arena, digest);
	code = move_back(w, KF_HOST_SUM, end, err);
	kf_arena_unask(&w->arena);
	return code;
}

const double *kf_worker_sums_of(const struct kf_worker *w, size_t i)
{
	return kf_arena_sums_of(&w->arena, i);
}

bool kf_worker_changed(const struct kf_worker *w, size_t *tensor,
		       int64_t *byte)
{
	uint64_t changed = kf_arena_reply(&w->arena)->changed;

	if (!kf_driver_moves(w->driver) || changed == UINT64_MAX)
		return false;
	kf_arena_find(&w->arena, changed, tensor, byte);
	return true;
}

/* The device's own time stands for ours where it has a clock, and where no
 * kernel runs in the process that reads it. It cannot be longer than the call
 * was: then its clock, or our use of it, is broken. It can look shorter, for a
 * kernel may reach its stamps: then the host's time counts. */
static enum kf_code take_device_time(struct kf_worker *w, uint64_t took_ns,
				     struct kf_call_end *end,
				     struct kf_err *err)
{
	const struct kf_host_reply *reply = kf_arena_reply(&w->arena);
	uint64_t device_ns = w->driver->two_part && !w->in_process ?
		reply->device_ns : 0;

	end->wall_ns = end->time_ns;
	if (!device_ns)
		return KF_OK;
	if (!kf_worker_clock_holds(device_ns, took_ns)) {
		kf_worker_stop(w);
		return kf_fail(err, KF_E_IO, "the clock of the device says "
			       "%.3g ms for a call that took %.3g ms",
			       (double)device_ns / 1e6, (double)took_ns / 1e6);
	}
	end->device_clock = true;
	end->clock_doubted = kf_worker_clock_lags(device_ns, reply->host_ns);
	end->time_ns = end->clock_doubted ? reply->host_ns : device_ns;
	return KF_OK;
}

static uint64_t deadline_ns(struct kf_worker *w, enum kf_host_command command,
			    uint64_t timeout_ns)
{
	bool first = command == KF_HOST_FORWARD && !w->has_run;
	/* There a vendor's libraries may be loaded, or its compiler work. */
	bool put_off = w->driver->python || (kf_driver_moves(w->driver) &&
		(w->in_process || !w->driver->two_part));

	w->has_run |= first;
	return (first && put_off) || command == KF_HOST_TRACE ?
		timeout_ns + FIRST_NS : timeout_ns;
}

static enum kf_code call(struct kf_worker *w, enum kf_host_command command,
			 uint64_t timeout_ns, struct kf_call_end *end,
			 struct kf_err *err)
{
	const struct kf_host_reply *reply = kf_arena_reply(&w->arena);
	uint64_t took_ns = 0;
	enum kf_wait why;
	uint32_t trouble;

	*end = (struct kf_call_end) { .state = KF_CALL_GOOD };
	if (w->dead)
		return kf_fail(err, KF_E_INPUT, "the worker has ended");
	if (!timeout_ns)
		return kf_fail(err, KF_E_INPUT, "a call without a deadline");
	timeout_ns = deadline_ns(w, command, timeout_ns);
	w->untidy = true;
	/* One that is not paused may have new threads since the last look. */
	if (w->driver->two_part && w->in_process)
		(void)kf_threads_stand(&w->pause.threads);
	why = kf_talk_transact(w, command, timeout_ns, &took_ns);
	if (!kf_driver_moves(w->driver))
		kf_arena_sample(&w->arena);
	if (why != KF_WAIT_ANSWERED)
		return kf_talk_fail(w, why, command, timeout_ns, end, err);
	if (took_ns > w->ping_ns_min)
		end->time_ns = took_ns - w->ping_ns_min;
	end->delay_ns = kf_threads_delay_ns(&w->pause.threads);
	end->delay_ns -= end->delay_ns < w->delay_ns ? end->delay_ns :
		w->delay_ns;
	end->own_ns = reply->own_ns;
	if (kf_weak(KF_WEAK_CLOCK))
		end->time_ns = end->own_ns;
	end->rc = reply->rc;
	trouble = reply->code;
	if (trouble)
		return kf_talk_trouble(w, trouble, command, end, err);
	if (end->rc && !w->driver->python) {
		end->state = KF_CALL_RC;
		snprintf(end->text, sizeof(end->text), "%s returned %d",
			 kf_driver_entry(w->driver,
					 command == KF_HOST_PREPARE), end->rc);
	}
	take_fault(w, end);
	take_python_end(w, end);
	return end->state == KF_CALL_GOOD ?
		take_device_time(w, took_ns, end, err) : KF_OK;
}

enum kf_code kf_worker_prepare(struct kf_worker *worker, uint64_t timeout_ns,
			       struct kf_call_end *end, struct kf_err *err)
{
	worker->has_bases = false;	/* what runs is not to find them */
	return call(worker, KF_HOST_PREPARE, timeout_ns, end, err);
}

enum kf_code kf_worker_forward(struct kf_worker *worker, uint64_t timeout_ns,
			       struct kf_call_end *end, struct kf_err *err)
{
	return call(worker, KF_HOST_FORWARD, timeout_ns, end, err);
}

bool kf_worker_holds(const struct kf_driver *driver)
{
	return driver->in_process && !driver->two_part && !driver->python &&
		!kf_driver_moves(driver);
}

bool kf_worker_held(const struct kf_worker *worker)
{
	return kf_arena_reply(&worker->arena)->held;
}

void kf_worker_hold(struct kf_worker *worker, uint64_t after_ns)
{
	kf_arena_request(&worker->arena)->hold_after_ns = after_ns;
}

bool kf_worker_traces(const struct kf_driver *driver)
{
	return driver->in_process && !driver->two_part &&
		kf_driver_moves(driver);
}

enum kf_code kf_worker_trace(struct kf_worker *worker, uint64_t timeout_ns,
			     struct kf_buf *ran, struct kf_call_end *end,
			     struct kf_err *err)
{
	const struct kf_host_reply *reply = kf_arena_reply(&worker->arena);
	char *copy = kf_alloc(sizeof(reply->ran));
	enum kf_code code = call(worker, KF_HOST_TRACE, timeout_ns, end, err);

	if (!code && end->state == KF_CALL_GOOD) {
		memcpy(copy, reply->ran, sizeof(reply->ran));
		kf_utf8_clean(copy, strnlen(copy, sizeof(reply->ran)), ran);
	}
	free(copy);
	return code;
}

/* --- the rest ----------------------------------------------------------- */

void *kf_worker_in(struct kf_worker *worker, size_t i)
{
	return worker->arena.inputs.data + worker->arena.in[i].offset;
}

void *kf_worker_weight(struct kf_worker *worker, size_t i)
{
	return worker->arena.inputs.data + worker->arena.weight[i].offset;
}

void *kf_worker_out(struct kf_worker *worker, size_t i)
{
	return worker->arena.outputs.data + worker->arena.out[i].offset;
}

void kf_worker_poison(struct kf_worker *worker)
{
	kf_arena_poison(&worker->arena);
	/* A device has the weights, and what lies beside them, already. */
	if (!kf_driver_moves(worker->driver))
		kf_arena_change_beside(&worker->arena);
}

uint32_t kf_worker_pattern(const struct kf_worker *worker)
{
	return worker->arena.pattern;
}

bool kf_worker_guards(const struct kf_worker *worker, size_t *which,
		      int64_t *offset)
{
	return kf_arena_guards(&worker->arena, which, offset);
}

bool kf_worker_late(struct kf_worker *worker)
{
	struct timespec while_ns = { .tv_nsec = (long)LATE_NS };

	if (worker->dead || kf_driver_moves(worker->driver))
		return false;
	kf_pause_end(&worker->pause);
	nanosleep(&while_ns, NULL);
	kf_pause_begin(&worker->pause);
	(void)kf_pause_settle(&worker->pause);
	return kf_arena_late(&worker->arena);
}

enum kf_sandbox_tier kf_worker_tier(const struct kf_worker *worker)
{
	return worker->tier;
}

uint64_t kf_worker_memory_peak(const struct kf_worker *worker)
{
	return worker->memory_bytes_peak;
}

uint64_t kf_worker_handshake_ns(const struct kf_worker *worker,
				uint64_t *median)
{
	if (median)
		*median = worker->ping_ns_median;
	return worker->ping_ns_min;
}

bool kf_worker_forked(const struct kf_worker *worker)
{
	return worker->nursery != NULL;
}

const struct kf_laps *kf_worker_laps(const struct kf_worker *worker)
{
	return &worker->laps;
}

pid_t kf_worker_pid(const struct kf_worker *worker)
{
	return worker->pid;
}

enum kf_code kf_worker_leave(struct kf_worker *w, uint64_t timeout_ns,
			     struct kf_outcome *outcome, struct kf_err *err)
{
	const struct timespec slice = { .tv_nsec = (long)KF_TALK_SLICE_NS };
	uint64_t end_ns = kf_now_ns() + timeout_ns;
	bool ended = false;

	*outcome = (struct kf_outcome) { 0 };
	if (w->dead)
		return kf_fail(err, KF_E_INPUT, "the worker has ended");
	kf_talk_tell(w, KF_HOST_LEAVE);
	while (!ended && kf_now_ns() < end_ns && !(w->cancel && *w->cancel)) {
		nanosleep(&slice, NULL);
		ended = kf_sandbox_ended(w->box);
	}
	return kf_talk_bury(w, ended, outcome, err);
}

void kf_worker_stop(struct kf_worker *worker)
{
	struct kf_outcome outcome = { 0 };

	if (worker->dead || !worker->box)
		return;
	if (worker->nursery && kf_nursery_clear(worker->nursery,
						worker->cancel))
		worker->dead = true;
	else
		(void)kf_talk_bury(worker, false, &outcome, NULL);
	kf_outcome_release(&outcome);
}

void kf_worker_doom(struct kf_worker *worker)
{
	if (!worker->dead && worker->box && !worker->nursery)
		kf_sandbox_doom(worker->box);
	kf_arena_release(&worker->arena);
}

void kf_worker_free(struct kf_worker *worker)
{
	if (!worker)
		return;
	kf_worker_stop(worker);
	if (worker->nursery)
		kf_nursery_leave(worker->nursery);
	else
		kf_sandbox_free(worker->box);
	kf_pause_release(&worker->pause);
	if (worker->hello_fd >= 0)
		close(worker->hello_fd);
	if (worker->shm_path)
		(void)kf_remove_tree(worker->shm_path, NULL);
	free(worker->shm_path);
	kf_arena_release(&worker->arena);
	free(worker);
}
