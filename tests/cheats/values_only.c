/*
 * values_only.c - in the place of kforge's protocol, what other judges do, to
 * tell what the protocol costs (bench/strictness.py): one process, five calls
 * on fresh data of the declared kind, compared as KernelBench compares; then
 * the rest of a fixed plan of calls on the last of these data, which nobody
 * looks at but the clock. Nothing is paused, poisoned or guarded; no other
 * kinds of data or weights, no second process, nothing about precision.
 */
#include "evaluate/digest.h"
#include "evaluate/expect.h"
#include "evaluate/judge.h"
#include "evaluate/weaken.h"
#include "problem/case.h"

#define TRIALS		5u	/* of values, as KernelBench has */
#define WARM_CALLS	3u	/* likewise, before the timed ones */
#define CALLS		100u	/* in all, where nobody asked for a number */
#define PREPARE_NS	(30 * KF_NS_PER_S)

static enum kf_code prepare(struct kf_session *s, struct kf_check *check,
			    struct kf_err *err)
{
	const struct kf_bundle *b = s->shared->req->bundle;
	enum kf_code code;

	for (size_t i = 0; i < b->weight_count; i++)
		memcpy(kf_worker_weight(s->worker, i), b->weight_data[i],
		       b->weight[i].bytes);
	code = kf_worker_prepare(s->worker, PREPARE_NS, &check->call, err);
	check->preparing = true;
	return code;
}

static enum kf_code call(struct kf_session *s, struct kf_check *check,
			 struct kf_err *err)
{
	uint64_t timeout_ns = s->shared->timeout_ns;
	enum kf_code code = kf_worker_upload(s->worker, &check->call, err);

	if (!code && check->call.state == KF_CALL_GOOD)
		code = kf_worker_forward(s->worker, timeout_ns, &check->call,
					 err);
	if (!code && check->call.state == KF_CALL_GOOD)
		code = kf_worker_download(s->worker, &check->call, err);
	s->shared->call_count += !code;
	s->shared->device_clock = check->call.device_clock;
	s->shared->candidate_ns += check->call.time_ns;
	return code;
}

/* Does output i hold what is expected, near enough? */
static bool near(struct kf_session *s, const struct kf_case *kase, size_t i,
		 struct kf_compare *c)
{
	struct kf_compare_request r = kf_expect(s->shared->req->bundle, kase,
						i, kf_worker_out(s->worker, i));

	if (kase->digest)
		kf_digest_compare(&r, &kase->digest[i], true, c);
	else
		kf_compare_kernelbench(&r, c);
	return c->end == KF_COMPARE_GOOD;
}

static enum kf_code try_values(struct kf_session *s, const struct kf_case *kase,
			       struct kf_check *check, struct kf_err *err)
{
	const struct kf_bundle *b = s->shared->req->bundle;
	enum kf_code code;

	*check = (struct kf_check) { .kase = kase };
	for (size_t i = 0; i < b->in_count; i++)
		if (kf_worker_in(s->worker, i))
			kf_case_input(b, kase, i, kf_worker_in(s->worker, i));
	code = call(s, check, err);
	if (code || check->call.state != KF_CALL_GOOD)
		return code;
	for (size_t i = 0; i < b->out_count && !check->fault; i++)
		if (!near(s, kase, i, &check->compare)) {
			check->fault = KF_FAULT_VALUES;
			check->tensor = i;
		}
	return KF_OK;
}

static bool ended(const struct kf_check *check)
{
	return check->fault || check->call.state != KF_CALL_GOOD;
}

static enum kf_code all_trials(struct kf_judgement *j, struct kf_session *s,
			       struct kf_check *check, struct kf_err *err)
{
	const struct kf_bundle *b = j->req->bundle;
	enum kf_code code = KF_OK;

	for (unsigned i = 0; i < TRIALS && !code && !ended(check); i++)
		code = try_values(s, &b->stock[i % b->stock_count], check,
				  err);
	j->kernelbench_seen = true;
	j->kernelbench_good = !ended(check);
	return code;
}

static enum kf_code time_calls(struct kf_judgement *j, struct kf_session *s,
			       struct kf_check *check, struct kf_err *err)
{
	unsigned calls = j->req->call_count_fixed ? j->req->call_count_fixed :
		CALLS;
	enum kf_code code = KF_OK;

	j->time_ns = kf_alloc(calls * sizeof(j->time_ns[0]));
	for (unsigned i = TRIALS; i < calls && !code && !ended(check); i++) {
		code = call(s, check, err);
		if (i >= TRIALS + WARM_CALLS)
			j->time_ns[j->time_count++] = check->call.time_ns;
	}
	return code;
}

enum kf_code kf_weak_run(struct kf_judgement *j, struct kf_err *err)
{
	struct kf_check *check = kf_alloc(sizeof(*check));
	struct kf_session s;
	enum kf_code code;

	kf_buf_puts(&j->notes, "no verdict of kforge's: values only\n");
	code = kf_session_start(&j->shared, &s, check, err);
	if (!code && !ended(check))
		code = prepare(&s, check, err);
	if (!code && !ended(check))
		code = all_trials(j, &s, check, err);
	if (!code && !ended(check) && j->req->stop_after != KF_REACH_VALUES)
		code = time_calls(j, &s, check, err);
	if (check->call.state != KF_CALL_GOOD)
		check->fault = KF_FAULT_CALL;
	j->failure = *check;
	kf_session_end(&s);
	free(check);
	return code;
}
