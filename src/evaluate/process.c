#include "evaluate/process.h"

#include <assert.h>
#include <math.h>

#include "evaluate/device.h"
#include "evaluate/kinds.h"
#include "evaluate/weaken.h"
#include "evaluate/worker.h"

#define BLOCK_NS		KF_NS_PER_S	/* longer blocks get fewer calls */
#define WARM_CALLS		3u
#define WARM_NS			(50 * KF_NS_PER_MS)
#define STOCK_FOR_WARMING	16u	/* less: sets warm processes up */
#define AFTER_FAILURE_NS	(10 * KF_NS_PER_S)
#define HELD_CALL_NS		(100 * KF_NS_PER_MS)	/* at most */
#define HELD_AFTER_NS		UINT64_C(2000)		/* at least */
#define HELD_CALLS		4u
#define HELD_TRIES		10u	/* some end before they can be held up */
#define HELD_HALVINGS		4u	/* of the time within which that is done */
#define DISTURB_BYTES		(UINT64_C(64) << 20)	/* moved in one call */
#define DELAY_PART		20u	/* of its time: a call is disturbed */

static void shuffle(struct kf_rng *rng, const struct kf_case **list,
		    size_t count)
{
	for (size_t i = count; i > 1; i--) {
		size_t k = (size_t)kf_rng_below(rng, i);
		const struct kf_case *swap = list[i - 1];

		list[i - 1] = list[k];
		list[k] = swap;
	}
}

static struct kf_set_result *result_of(struct kf_judgement *j,
				       const struct kf_case *kase)
{
	const struct kf_bundle *b = j->req->bundle;

	if (kase < b->set || kase >= b->set + b->set_count)
		return NULL;
	return &j->set[kase - b->set];
}

static bool is_declared(const struct kf_judgement *j,
			const struct kf_check *check)
{
	return check->kase == j->req->bundle->set;
}

static bool is_odd(const struct kf_case *kase)
{
	return kase && kf_kind_of(kase->kind).odd;
}

/* Keep the fault that tells most: the worst kind, then the declared set. */
static void note_failure(struct kf_judgement *j, const struct kf_check *check,
			 bool timed)
{
	const struct kf_check *kept = &j->failure;
	bool odd = is_odd(check->kase), kept_odd = is_odd(kept->kase);

	if (kept->fault && odd > kept_odd)
		return;
	if (kept->fault && odd == kept_odd &&
	    (check->fault > kept->fault ||
	     (check->fault == kept->fault && !is_declared(j, check))))
		return;
	j->failure = *check;
	j->failure_timed = timed;
}

static void note_declared(struct kf_judgement *j, const struct kf_check *check)
{
	if (!is_declared(j, check) || check->fault)
		return;
	if (j->fingerprint_seen) {
		j->repeated = true;
		j->repeated_equal = j->fingerprint == check->fingerprint;
	}
	j->fingerprint = check->fingerprint;
	j->fingerprint_seen = true;
}

/* Under the benchmark's own rules the other sets are only put on record. */
static bool decides(const struct kf_judgement *j, const struct kf_check *check)
{
	return j->req->rules == KF_RULES_KFORGE || !check->kase ||
		check->kernelbench_applies;
}

static void note_size(struct kf_judgement *j, const struct kf_check *check)
{
	j->q_max = fmax(j->q_max, check->q_max);
	j->rms_max = fmax(j->rms_max, check->rms_max);
	j->all_good = j->all_good && check->good;
	if (check->tie_count > j->tie_count)
		j->tie_count = check->tie_count;
	if (check->tie_chunk_count > j->tie_chunk_count)
		j->tie_chunk_count = check->tie_chunk_count;
}

static void note_check(struct kf_judgement *j, const struct kf_check *check,
		       bool timed)
{
	struct kf_set_result *set = check->kase ? result_of(j, check->kase) :
		NULL;

	note_size(j, check);
	if (check->kernelbench_applies) {
		j->kernelbench_good = check->kernelbench_good &&
			(j->kernelbench_good || !j->kernelbench_seen);
		j->kernelbench_seen = true;
	}
	if (set)
		*set = (struct kf_set_result) {
			.ran = true, .fault = check->fault,
			.good = check->good,
			.kernelbench_good = check->kernelbench_good,
		};
	note_declared(j, check);
	if (check->fault && decides(j, check))
		note_failure(j, check, timed);
}

bool kf_process_dead(const struct kf_check *last)
{
	return last->fault == KF_FAULT_CALL;
}

enum kf_code kf_process_call(struct kf_judgement *j, struct kf_process *p,
			     const struct kf_case *kase, bool timed,
			     struct kf_check *check, struct kf_err *err)
{
	enum kf_code code;

	if (j->req->cancel && *j->req->cancel)
		return kf_fail(err, KF_E_CANCELED, "stopped");
	code = kf_session_call(&p->session, kase, check, err);
	if (code)
		return code;
	j->calls_left -= j->calls_left > 0;
	note_check(j, check, timed);
	return KF_OK;
}

/* --- a process begins ---------------------------------------------------- */

const struct kf_case *kf_process_fresh(struct kf_process *p)
{
	assert(p->fresh_used < p->fresh_count);
	return p->fresh[p->fresh_used++];
}

enum kf_code kf_process_start(struct kf_judgement *j, bool first, uint64_t seed,
			      struct kf_process *p, struct kf_check *check,
			      struct kf_err *err)
{
	const struct kf_bundle *b = j->req->bundle;
	struct kf_rng rng = { seed };
	enum kf_code code;

	*p = (struct kf_process) {
		.first = first, .fresh_count = b->stock_count,
		.keep = KF_BLOCK_CALLS,
	};
	p->fresh = kf_alloc((b->stock_count + 1) * sizeof(p->fresh[0]));
	for (size_t i = 0; i < b->stock_count; i++)
		p->fresh[i] = &b->stock[i];
	shuffle(&rng, p->fresh, p->fresh_count);
	code = kf_session_start(&j->shared, &p->session, check, err);
	if (!code && check->fault)
		note_check(j, check, false);
	p->start_ns = kf_now_ns();
	return code;
}

/* On data that the process has not seen, if there are any left. */
enum kf_code kf_process_trace(struct kf_judgement *j, struct kf_process *p,
			      struct kf_buf *ran, struct kf_err *err)
{
	const struct kf_case *kase = p->fresh_used < p->fresh_count ?
		kf_process_fresh(p) : j->req->bundle->set;
	struct kf_check *check = kf_alloc(sizeof(*check));
	enum kf_code code = kf_session_trace(&p->session, kase, ran, check,
					     err);

	/* Every call without a watcher ended well. */
	if (!code && check->fault == KF_FAULT_CALL)
		kf_buf_printf(ran, "unseen the watched call did not end well: "
			      "%.*s\n", (int)strcspn(check->call.text, "\n"),
			      check->call.text);
	else if (!code && check->fault && decides(j, check))
		note_failure(j, check, false);
	free(check);
	return code;
}

void kf_process_end(struct kf_process *p)
{
	kf_session_end(&p->session);
	free(p->fresh);
	p->fresh = NULL;
}

/* Sets that need no other weights, to warm a process up with. */
static size_t add_some_sets(struct kf_judgement *j, size_t count,
			    const struct kf_case **list)
{
	const struct kf_bundle *b = j->req->bundle;
	size_t found = 0;

	for (size_t i = 0; i < b->set_count && found < count; i++)
		if (!b->set[i].weight && (j->req->rules == KF_RULES_KFORGE ||
					  i == 0))
			list[found++] = &b->set[i];
	return found;
}

/* For the record: the same seed gives the same order. */
static void note_order(struct kf_judgement *j,
		       const struct kf_case *const *list, size_t count)
{
	const struct kf_case *stock = j->req->bundle->stock;

	for (size_t i = 0; i < count; i++) {
		kf_buf_printf(&j->order, "%s%s", i ? " " : "", list[i]->kind);
		if (strcmp(list[i]->kind, "stock") == 0)
			kf_buf_printf(&j->order, ":%td", list[i] - stock);
	}
}

/* The set that repeats the first one but for a few elements comes right after
 * it, so that a result that was kept is still there. */
static void bring_together(const struct kf_bundle *b,
			   const struct kf_case **list, size_t count)
{
	const struct kf_case *changed = NULL;
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i]->kind, "changed") == 0)
			changed = list[i];
		else
			list[kept++] = list[i];
	if (!changed)
		return;
	for (; kept > 0 && list[kept - 1] != b->set; kept--)
		list[kept] = list[kept - 1];
	list[kept] = changed;
}

/* What is wrong on ordinary data too is told of these: it helps more. */
static void odd_ones_last(const struct kf_case **list, size_t count)
{
	const struct kf_case **odd = kf_alloc((count + 1) * sizeof(odd[0]));
	size_t kept = 0, found = 0;

	for (size_t i = 0; i < count; i++)
		if (is_odd(list[i]))
			odd[found++] = list[i];
		else
			list[kept++] = list[i];
	memcpy(list + kept, odd, found * sizeof(odd[0]));
	free(odd);
}

/* A forked process can tell that it is not the first (docs/security.md): it
 * must expect other data than the declared kind too. */
static size_t add_any_set(struct kf_judgement *j, const struct kf_case **list)
{
	const struct kf_bundle *b = j->req->bundle;
	size_t i;

	if (!j->req->platform->driver->python || b->set_count < 2 ||
	    j->req->rules != KF_RULES_KFORGE)
		return 0;
	i = 1 + (size_t)kf_rng_below(&j->rng, b->set_count - 1);
	if (b->set[i].weight)
		return 0;
	list[0] = &b->set[i];
	return 1;
}

/*
 * The calls before the first timed block: in the first process every verdict
 * set, in later ones the declared set once more (does it give the same there?)
 * and, if the stock is small or it is forked, other sets; with stock entries
 * among them, in secret order but for the set that repeats the declared one and
 * for odd data.
 */
static size_t plan(struct kf_judgement *j, struct kf_process *p,
		   const struct kf_case **list)
{
	const struct kf_bundle *b = j->req->bundle;
	bool small = b->stock_count < STOCK_FOR_WARMING;
	size_t count;

	if (p->first && j->req->rules == KF_RULES_KFORGE)
		count = add_some_sets(j, b->set_count, list);
	else
		count = add_some_sets(j, small ? WARM_CALLS : 1, list);
	if (!p->first && !small)
		count += add_any_set(j, list + count);
	for (size_t i = 0; p->first && i < b->set_count; i++)
		if (b->set[i].weight && j->req->rules == KF_RULES_KFORGE)
			list[count++] = &b->set[i];
	for (size_t i = 0; !small && i < WARM_CALLS; i++)
		list[count++] = kf_process_fresh(p);
	shuffle(&j->rng, list, count);
	bring_together(b, list, count);
	odd_ones_last(list, count);
	if (p->first)
		note_order(j, list, count);
	return count;
}

/* After a failure the sets that are left are still run, so that the verdict
 * can say on which kinds of data the candidate is right; but not for long. */
static bool go_on(const struct kf_judgement *j, const struct kf_check *last,
		  const struct kf_case *next, uint64_t failed_ns)
{
	if (kf_process_dead(last))
		return false;
	if (!j->failure.fault)
		return j->calls_left > 0;
	return strcmp(next->kind, "stock") != 0 &&
		kf_now_ns() - failed_ns < AFTER_FAILURE_NS;
}

static enum kf_code run_plan(struct kf_judgement *j, struct kf_process *p,
			     const struct kf_case *const *list, size_t count,
			     struct kf_err *err)
{
	struct kf_check *check = kf_alloc(sizeof(*check));
	uint64_t failed_ns = 0, slowest_ns = 0, quickest_ns = UINT64_MAX;
	enum kf_code code = KF_OK;

	for (size_t i = 0; i < count && !code; i++) {
		if (i > 0 && j->failure.fault && !failed_ns)
			failed_ns = kf_now_ns();
		if (i > 0 && !go_on(j, check, list[i], failed_ns))
			continue;
		code = kf_process_call(j, p, list[i], false, check, err);
		if (!code && check->call.time_ns > slowest_ns)
			slowest_ns = check->call.time_ns;
		if (!code && check->call.time_ns < quickest_ns)
			quickest_ns = check->call.time_ns;
	}
	j->call_ns = slowest_ns;
	j->call_ns_min = quickest_ns;
	free(check);
	return code;
}

/* Nothing can be held up of a program without threads; longer calls need no
 * help for threads to differ. */
static bool can_hold(const struct kf_judgement *j)
{
	return j->req->rules == KF_RULES_KFORGE && j->shared.has_threads &&
		kf_worker_holds(j->req->platform->driver) &&
		j->call_ns_min <= HELD_CALL_NS && !kf_weak(KF_WEAK_ORDER);
}

/* Decided once. A fixed plan has them within its calls, if it has so many; what
 * is not needed of them it gets back. */
static void plan_hold(struct kf_judgement *j)
{
	unsigned tries = HELD_TRIES;

	if (!can_hold(j))
		return;
	if (j->req->call_count_fixed) {
		if (j->calls_left < HELD_CALLS + KF_BLOCK_CALLS)
			return;
		if (tries > j->calls_left - KF_BLOCK_CALLS)
			tries = (unsigned)(j->calls_left - KF_BLOCK_CALLS);
		j->calls_left -= tries;
	}
	j->hold_tries = tries;
}

enum kf_code kf_process_sets(struct kf_judgement *j, struct kf_process *p,
			     struct kf_err *err)
{
	const struct kf_bundle *b = j->req->bundle;
	const struct kf_case **list;
	enum kf_code code;

	list = kf_alloc((b->set_count + WARM_CALLS + 1) * sizeof(list[0]));
	code = run_plan(j, p, list, plan(j, p, list), err);
	free(list);
	if (!code && p->first)
		plan_hold(j);
	return code;
}

/* On data that the process has not seen, while there are any: then a set. */
static const struct kf_case *case_to_hold(struct kf_judgement *j,
					  struct kf_process *p, unsigned i)
{
	const struct kf_bundle *b = j->req->bundle;
	const struct kf_case *kase = b->set;

	if (p->fresh_used < p->fresh_count)
		return kf_process_fresh(p);
	for (size_t k = 0; k < b->set_count; k++) {
		if (b->set[k].weight || is_odd(&b->set[k]))
			continue;
		kase = &b->set[k];
		if (!i--)
			break;
	}
	return kase;
}

/* It says nothing of its kind of data, nor of what another process gives. */
static void note_held(struct kf_judgement *j, const struct kf_check *check)
{
	j->held_tries++;
	j->held_calls += check->held;
	note_size(j, check);
	if (check->fault)
		note_failure(j, check, false);
}

/* Within the shortest call so far, early moments above all: on a busy machine
 * that one may have taken several times as long as a call takes. */
static uint64_t moment_to_hold(const struct kf_judgement *j,
			       struct kf_rng *rng)
{
	uint64_t most_ns = j->call_ns_min >> kf_rng_below(rng, HELD_HALVINGS);

	return HELD_AFTER_NS + kf_rng_below(rng, most_ns + 1);
}

enum kf_code kf_process_hold(struct kf_judgement *j, struct kf_process *p,
			     struct kf_err *err)
{
	struct kf_rng rng = { j->hold_tries ? kf_rng_next(&j->rng) : 0 };
	struct kf_check *check = kf_alloc(sizeof(*check));
	enum kf_code code = KF_OK;

	for (unsigned i = 0; i < j->hold_tries && !code &&
	     !j->failure.fault && j->held_calls < HELD_CALLS; i++) {
		uint64_t after_ns = moment_to_hold(j, &rng);

		if (j->req->cancel && *j->req->cancel) {
			code = kf_fail(err, KF_E_CANCELED, "stopped");
			break;
		}
		code = kf_session_hold(&p->session, case_to_hold(j, p, i),
				       after_ns, check, err);
		if (!code)
			note_held(j, check);
	}
	if (j->req->call_count_fixed)
		j->calls_left += j->hold_tries - j->held_tries;
	free(check);
	return code;
}

/* What is left of the 50 ms: copying and comparing between calls keep the same
 * processors busy, so they count. At most an eighth of the stock. */
enum kf_code kf_process_warm(struct kf_judgement *j, struct kf_process *p,
			     struct kf_err *err)
{
	size_t most = p->fresh_count / 8;
	struct kf_check *check = kf_alloc(sizeof(*check));
	enum kf_code code = KF_OK;

	for (size_t i = 0; i < most && !code && !j->failure.fault; i++) {
		if (kf_now_ns() - p->start_ns > WARM_NS ||
		    p->fresh_count - p->fresh_used <= p->keep ||
		    j->calls_left <= KF_BLOCK_CALLS)
			break;
		code = kf_process_call(j, p, kf_process_fresh(p), false, check,
				       err);
		if (!code)
			j->call_ns = check->call.time_ns;
	}
	free(check);
	return code;
}

size_t kf_process_warm_count(size_t stock_count)
{
	return stock_count < STOCK_FOR_WARMING ? 0 :
		WARM_CALLS + stock_count / 8;
}

/* Does PyTorch's baseline run there too? */
static bool on_device(const struct kf_evaluate_request *req)
{
	return req->platform->driver->torch_device != NULL;
}

static enum kf_code baseline_ready(struct kf_judgement *j, struct kf_err *err)
{
	uint64_t start_ns = kf_now_ns();
	enum kf_code code = KF_OK;

	if (j->req->baseline)
		code = kf_baseline_time(j->req->baseline, NULL, 0, NULL, NULL,
					err);
	j->out->baseline_took_ns += kf_now_ns() - start_ns;
	return code;
}

/* Has the device, or shares it; what it waited for that is not judging. */
static enum kf_code wait_for_device(struct kf_judgement *j,
				    enum kf_code (*take)(
					const struct kf_device_wait *wait,
					struct kf_lock *out,
					uint64_t *waited_ns,
					struct kf_err *err),
				    struct kf_lock *out, struct kf_err *err)
{
	const struct kf_evaluate_request *req = j->req;
	const struct kf_device_wait wait = kf_device_wait_usual(
		req->lock_path, req->device_id, req->log, req->cancel);
	uint64_t waited_ns = 0;
	enum kf_code code = take(&wait, out, &waited_ns, err);

	j->waited_ns += waited_ns;
	return code;
}

/* Loading PyTorch and compiling take seconds: others may do that beside it. */
static enum kf_code baseline_warm(struct kf_judgement *j, struct kf_err *err)
{
	uint64_t start_ns = kf_now_ns(), waited_ns = j->waited_ns;
	struct kf_lock shared = { 0 };
	enum kf_code code;

	if (!j->req->baseline ||
	    kf_baseline_about(j->req->baseline)->ready_ns)
		return KF_OK;
	code = wait_for_device(j, kf_device_share, &shared, err);
	if (!code)
		kf_baseline_warm(j->req->baseline);
	kf_lock_release(&shared);
	j->out->baseline_took_ns += kf_now_ns() - start_ns -
		(j->waited_ns - waited_ns);
	return code;
}

/* A baseline that still starts keeps processors busy, so it is waited for
 * first. One that runs on the device warms up there, beside others who compute,
 * and takes its first times with the device in hand. */
enum kf_code kf_device_take(struct kf_judgement *j, struct kf_err *err)
{
	const struct kf_evaluate_request *req = j->req;
	enum kf_code code;

	if (!req->lock_path || j->lock.held)
		return KF_OK;
	code = on_device(req) ? baseline_warm(j, err) : baseline_ready(j, err);
	if (!code)
		code = wait_for_device(j, kf_device_lock, &j->lock, err);
	if (!code && on_device(req))
		code = baseline_ready(j, err);
	return code;
}

/* What a few small calls take of a device is not worth the wait. */
static bool disturbs(const struct kf_evaluate_request *req)
{
	const struct kf_bundle *b = req->bundle;

	return kf_driver_on_device(req->platform->driver,
				   req->device_in_process) &&
		kf_tensors_bytes(b->in, b->in_count) +
		kf_tensors_bytes(b->out, b->out_count) > DISTURB_BYTES;
}

enum kf_code kf_device_share_sets(struct kf_judgement *j,
				  struct kf_lock *out, struct kf_err *err)
{
	const struct kf_evaluate_request *req = j->req;

	*out = (struct kf_lock) { 0 };
	return !req->lock_path || j->lock.held || !disturbs(req) ? KF_OK :
		wait_for_device(j, kf_device_share, out, err);
}

/* --- blocks -------------------------------------------------------------- */

unsigned kf_block_calls(uint64_t call_ns)
{
	uint64_t calls = KF_BLOCK_CALLS;

	if (call_ns * calls > BLOCK_NS)
		calls = BLOCK_NS / call_ns;
	return calls < KF_BLOCK_CALLS_LEAST ? KF_BLOCK_CALLS_LEAST :
		(unsigned)calls;
}

size_t kf_block_most(const struct kf_evaluate_request *req)
{
	const struct kf_bundle *b = req->bundle;
	size_t sixth = b->stock_count / KF_BLOCKS_MOST;

	if (!b->condensed || !kf_session_opens_device(req))
		return b->stock_count;
	return sixth ? sixth : 1;
}

/* A call whose threads waited for a processor says how busy the machine is. */
static bool disturbed_call(uint64_t time_ns, uint64_t delay_ns)
{
	return delay_ns > time_ns / DELAY_PART;
}

/* A block is its median, so a few of its calls may be disturbed. */
static bool disturbed_block(unsigned calls, unsigned count)
{
	return calls > count / 4;
}

enum kf_code kf_block_run(struct kf_judgement *j, struct kf_process *p,
			  const struct kf_case *const *kase, unsigned count,
			  uint64_t *time_ns, bool *disturbed,
			  struct kf_err *err)
{
	struct kf_check *check = kf_alloc(sizeof(*check));
	enum kf_code code = KF_OK;
	unsigned calls = 0;

	for (unsigned i = 0; i < count && !code && !j->failure.fault; i++) {
		code = kf_process_call(j, p, kase[i], true, check, err);
		if (code)
			break;
		time_ns[i] = check->call.time_ns;
		if (time_ns[i] < j->call_ns_min)
			j->call_ns_min = time_ns[i];
		if (check->call.device_clock) {
			j->wall_ns += check->call.wall_ns;
			j->wall_count++;
			j->doubted_count += check->call.clock_doubted;
		}
		j->delay_ns += check->call.delay_ns;
		j->delay_count++;
		calls += check->call.clock_doubted ||
			disturbed_call(time_ns[i], check->call.delay_ns);
	}
	if (disturbed_block(calls, count))
		*disturbed = true;
	free(check);
	return code;
}

enum kf_code kf_block_baseline(struct kf_baseline *baseline,
			       const struct kf_case *const *kase,
			       unsigned count, uint64_t *time_ns,
			       bool *disturbed, struct kf_err *err)
{
	uint64_t delay_ns[KF_BLOCK_CALLS];
	unsigned calls = 0;
	enum kf_code code;

	assert(count <= KF_BLOCK_CALLS);
	code = kf_baseline_time(baseline, kase, count, time_ns, delay_ns, err);
	for (unsigned i = 0; !code && i < count; i++)
		calls += disturbed_call(time_ns[i], delay_ns[i]);
	if (disturbed_block(calls, count))
		*disturbed = true;
	return code;
}

double kf_block_median(const uint64_t *time_ns, unsigned count)
{
	uint64_t median = kf_stats_median_u64(time_ns, count);

	return (double)(median ? median : 1);
}
