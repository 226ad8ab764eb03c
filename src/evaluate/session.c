/* session.c - a process of a candidate from its start to its end, and the calls
 * in between: what one is given, and how it is made. */
#include "evaluate/session_inside.h"

#include <assert.h>

#include "evaluate/weaken.h"
#include "problem/case.h"

#define PREPARE_NS	(30 * KF_NS_PER_S)

enum kf_code kf_session_start(struct kf_session_shared *shared,
			      struct kf_session *out, struct kf_check *check,
			      struct kf_err *err)
{
	const struct kf_evaluate_request *req = shared->req;
	uint64_t start_ns = kf_now_ns();
	char laps[KF_LAPS_TEXT];
	enum kf_code code;

	*out = (struct kf_session) { .shared = shared };
	*check = (struct kf_check) { .fault = KF_FAULT_NONE };
	code = kf_session_shared_next(shared, &out->worker, &check->call, err);
	if (code)
		return code;
	shared->process_count++;
	shared->handshake_ns = kf_worker_handshake_ns(out->worker, NULL);
	kf_laps_text(kf_worker_laps(out->worker), laps);
	kf_logf(req->log, KF_LOG_DEBUG, "process %u of the candidate%s ready "
		"in %.1f ms; it took %s", shared->process_count,
		kf_worker_forked(out->worker) ? ", forked," : "",
		(double)(kf_now_ns() - start_ns) / 1e6, laps);
	out->used = kf_alloc((req->bundle->set_count +
			      req->bundle->stock_count + 1) *
			     sizeof(out->used[0]));
	if (check->call.state != KF_CALL_GOOD)
		check->fault = KF_FAULT_CALL;
	return KF_OK;
}

/* Nothing is said of one that was never begun. */
static void tell_laps(const struct kf_session *s)
{
	char laps[KF_LAPS_TEXT];

	if (!s->all.count)
		return;
	kf_laps_text(&s->all, laps);
	kf_logf(s->shared->req->log, KF_LOG_DEBUG, "a process of the "
		"candidate, %u calls: %s", s->call_count, laps);
}

void kf_session_end(struct kf_session *session)
{
	kf_laps_begin(&session->all);
	if (session->worker) {
		kf_session_shared_leave(session->shared, session->worker);
		kf_laps_end(&session->all, "end");
	}
	tell_laps(session);
	free(session->used);
	*session = (struct kf_session) { 0 };
}

/* --- before a call ------------------------------------------------------- */

static void write_tensor(void *to, const void *from, size_t bytes)
{
	if (to && from && bytes)
		memcpy(to, from, bytes);
}

static const void **weights_of(const struct kf_session *s,
			       const struct kf_case *kase)
{
	const struct kf_bundle *b = s->shared->req->bundle;

	return kase->weight ? kase->weight : b->weight_data;
}

/* Weights go in, and kf_prepare runs, only when they change. */
static enum kf_code set_weights(struct kf_session *s,
				const struct kf_case *kase,
				struct kf_check *check, struct kf_err *err)
{
	struct kf_session_shared *shared = s->shared;
	const struct kf_bundle *b = shared->req->bundle;
	const void **weight = weights_of(s, kase);
	uint64_t timeout_ns = shared->timeout_ns, start_ns;
	enum kf_code code;

	if (s->prepared && weight == s->weight)
		return KF_OK;
	for (size_t i = 0; i < b->weight_count; i++)
		write_tensor(kf_worker_weight(s->worker, i), weight[i],
			     b->weight[i].bytes);
	kf_laps_end(&s->call, "weights");
	s->weight = weight;
	s->prepared = true;
	if (timeout_ns < PREPARE_NS)
		timeout_ns = PREPARE_NS;
	start_ns = kf_now_ns();
	code = kf_worker_prepare(s->worker, timeout_ns, &check->call, err);
	kf_laps_end(&s->call, "prepare");
	if (code)
		return code;
	if (check->call.state != KF_CALL_GOOD) {
		shared->candidate_ns += kf_now_ns() - start_ns;
		check->fault = KF_FAULT_CALL;
		check->preparing = true;
		return KF_OK;
	}
	shared->candidate_ns += check->call.time_ns;
	if (!shared->prepare_ns)
		shared->prepare_ns = check->call.time_ns;
	return KF_OK;
}

static void write_inputs(struct kf_session *s, const struct kf_case *kase)
{
	const struct kf_bundle *b = s->shared->req->bundle;

	for (size_t i = 0; i < b->in_count; i++)
		if (kf_worker_in(s->worker, i) &&
		    !kf_worker_makes(s->worker, i))
			kf_case_input(b, kase, i, kf_worker_in(s->worker, i));
}

static void evict_inputs(struct kf_session *s)
{
	const struct kf_bundle *b = s->shared->req->bundle;

	for (size_t i = 0; i < b->in_count; i++)
		if (kf_worker_in(s->worker, i))
			s->evict(kf_worker_in(s->worker, i), b->in[i].bytes);
}

/* All that a call is given. */
static enum kf_code bring(struct kf_session *s, const struct kf_case *kase,
			  struct kf_check *check, struct kf_err *err)
{
	const struct kf_bundle *bundle = s->shared->req->bundle;
	enum kf_code code = kf_worker_tidy(s->worker, &check->call, err);

	kf_laps_end(&s->call, "tidy");
	if (!code && check->call.state != KF_CALL_GOOD)
		check->fault = KF_FAULT_CALL;
	if (!code && !check->fault)
		code = set_weights(s, kase, check, err);
	if (code || check->fault)
		return code;
	kf_worker_poison(s->worker);
	kf_laps_end(&s->call, "poison");
	write_inputs(s, kase);
	kf_laps_end(&s->call, "inputs");
	if (kf_worker_lacks_bases(s->worker)) {
		code = kf_worker_give(s->worker, bundle, &check->call, err);
		kf_laps_end(&s->call, "bases");
	}
	if (!code)
		code = kf_weak_before(s, kase, err);
	if (!code && check->call.state == KF_CALL_GOOD)
		code = kf_worker_make(s->worker, bundle, kase, &check->call,
				      err);
	kf_laps_end(&s->call, "upload");
	if (!code && check->call.state != KF_CALL_GOOD)
		check->fault = KF_FAULT_CALL;
	if (!code && !check->fault && s->evict)
		evict_inputs(s);
	kf_laps_end(&s->call, "evict");
	return code;
}

/* --- a call -------------------------------------------------------------- */

/* The benchmark's own rule speaks of its own kind of data only. */
static bool kernelbench_applies(const struct kf_case *kase)
{
	return strcmp(kase->kind, "declared") == 0 ||
		strcmp(kase->kind, "stock") == 0;
}

/* ran: NULL, or the call is traced. */
static enum kf_code forward(struct kf_session *s, const struct kf_case *kase,
			    struct kf_buf *ran, struct kf_check *check,
			    struct kf_err *err)
{
	struct kf_session_shared *shared = s->shared;
	uint64_t start_ns = kf_now_ns();
	enum kf_code code = ran ?
		kf_worker_trace(s->worker, shared->timeout_ns, ran,
				&check->call, err) :
		kf_worker_forward(s->worker, shared->timeout_ns, &check->call,
				  err);

	check->held = s->to_hold && kf_worker_held(s->worker);
	kf_laps_end(&s->call, "run");
	s->summed = !ran && kf_worker_sums(s->worker);
	if (!code && check->call.state == KF_CALL_GOOD)
		code = s->summed ?
			kf_worker_sum(s->worker, kase->digest, &check->call,
				      err) :
			kf_worker_download(s->worker, &check->call, err);
	kf_laps_end(&s->call, s->summed ? "sums" : "download");
	if (code)
		return code;
	if (check->call.state != KF_CALL_GOOD) {
		shared->candidate_ns += kf_now_ns() - start_ns;
		check->fault = KF_FAULT_CALL;
		return KF_OK;
	}
	shared->candidate_ns += check->call.time_ns;
	return KF_OK;
}

static void begin_check(struct kf_session *s, const struct kf_case *kase,
			struct kf_check *check)
{
	s->call = (struct kf_laps) { 0 };
	kf_laps_begin(&s->call);
	*check = (struct kf_check) {
		.kase = kase, .call_number = ++s->call_count,
		.kernelbench_applies = kernelbench_applies(kase),
	};
}

/* What lies around its scratch is seen when that is tidied up. */
static enum kf_code end_call(struct kf_session *s, struct kf_check *check,
			     struct kf_err *err)
{
	struct kf_call_end end;
	enum kf_code code = kf_worker_tidy(s->worker, &end, err);

	kf_laps_end(&s->call, "tidy");
	if (code || end.state == KF_CALL_GOOD)
		return code;
	check->call = end;
	check->fault = KF_FAULT_CALL;
	check->good = check->kernelbench_good = false;
	return KF_OK;
}

static void end_laps(struct kf_session *s, const struct kf_check *check)
{
	const struct kf_log *log = s->shared->req->log;
	char laps[KF_LAPS_TEXT];

	kf_laps_add(&s->all, &s->call);
	if (!log || log->level < KF_LOG_TRACE)
		return;
	kf_laps_text(&s->call, laps);
	kf_logf(log, KF_LOG_TRACE, "call %u (%s): %s", check->call_number,
		check->kase->kind, laps);
}

static enum kf_code checked_call(struct kf_session *s,
				 const struct kf_case *kase,
				 struct kf_check *check, struct kf_err *err)
{
	enum kf_code code;

	kase = kf_weak_case(s, kase);
	begin_check(s, kase, check);
	code = bring(s, kase, check, err);
	if (!code && !check->fault) {
		code = forward(s, kase, NULL, check, err);
		s->shared->call_count += !code;
		s->shared->device_clock = check->call.device_clock;
	}
	if (code || check->fault)
		return code;
	kf_weak_after(s, kase);
	code = kf_session_look(s, kase, check, err);
	return code || check->fault ? code : end_call(s, check, err);
}

static bool used(const struct kf_session *s, const struct kf_case *kase)
{
	for (size_t i = 0; i < s->used_count; i++)
		if (s->used[i] == kase)
			return true;
	return false;
}

static void note_used(struct kf_session *s, const struct kf_case *kase)
{
	if (!used(s, kase))
		s->used[s->used_count++] = kase;
}

enum kf_code kf_session_call(struct kf_session *s, const struct kf_case *kase,
			     struct kf_check *check, struct kf_err *err)
{
	enum kf_code code;

	assert(!used(s, kase));
	code = checked_call(s, kase, check, err);
	note_used(s, kase);
	end_laps(s, check);
	return code;
}

enum kf_code kf_session_hold(struct kf_session *s, const struct kf_case *kase,
			     uint64_t after_ns, struct kf_check *check,
			     struct kf_err *err)
{
	enum kf_code code;

	kf_worker_hold(s->worker, after_ns);
	s->to_hold = true;
	code = checked_call(s, kase, check, err);
	s->to_hold = false;
	kf_worker_hold(s->worker, 0);
	check->kernelbench_applies = false;
	note_used(s, kase);
	end_laps(s, check);
	return code;
}

enum kf_code kf_session_trace(struct kf_session *s, const struct kf_case *kase,
			      struct kf_buf *ran, struct kf_check *check,
			      struct kf_err *err)
{
	enum kf_code code;

	kase = kf_weak_case(s, kase);
	begin_check(s, kase, check);
	code = bring(s, kase, check, err);
	if (!code && !check->fault)
		code = forward(s, kase, ran, check, err);
	if (code || check->fault)
		return code;
	kf_weak_after(s, kase);
	code = kf_session_look(s, kase, check, err);
	end_laps(s, check);
	return code;
}
