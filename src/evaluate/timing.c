/*
 * timing.c - the calls of a judgement: which cases, in which processes, in
 * which order. Values are looked at in every one of them (session.c); times
 * are taken from blocks of calls on fresh data, the baseline in turn.
 */
#include "evaluate/judge.h"

#include <assert.h>
#include <math.h>

#define BLOCK_CALLS		10u
#define BLOCK_CALLS_LEAST	3u
#define BLOCK_NS		KF_NS_PER_S	/* longer blocks get fewer calls */
#define BLOCKS_PER_PROCESS	6u
#define WARM_CALLS		3u
#define WARM_NS			(50 * KF_NS_PER_MS)
#define STOCK_FOR_WARMING	16u	/* less: sets warm processes up */
#define TIMING_NS		(60 * KF_NS_PER_S)
#define AFTER_FAILURE_NS	(10 * KF_NS_PER_S)
#define DELAY_PART		20u	/* of its time: a call is disturbed */
#define DISTURBED_MAX		20u	/* pairs of blocks taken again */

/* One process and the order in which it will see cases. */
struct process {
	struct kf_session session;
	const struct kf_case **fresh;	/* owned; stock in secret order */
	size_t fresh_count, fresh_used;
	unsigned blocks;
	uint64_t start_ns;
	bool first;
};

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

/* Keep the fault that tells most: the worst kind, then the declared set. */
static void note_failure(struct kf_judgement *j, const struct kf_check *check,
			 bool timed)
{
	const struct kf_check *kept = &j->failure;

	if (kept->fault && (check->fault > kept->fault ||
			    (check->fault == kept->fault &&
			     !is_declared(j, check))))
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

static void note_check(struct kf_judgement *j, const struct kf_check *check,
		       bool timed)
{
	struct kf_set_result *set = check->kase ? result_of(j, check->kase) :
		NULL;

	j->q_max = fmax(j->q_max, check->q_max);
	j->rms_max = fmax(j->rms_max, check->rms_max);
	j->all_good = j->all_good && check->good;
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

static bool dead(const struct kf_check *check)
{
	return check->fault == KF_FAULT_CALL;
}

static enum kf_code call(struct kf_judgement *j, struct process *p,
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

static const struct kf_case *next_fresh(struct process *p)
{
	assert(p->fresh_used < p->fresh_count);
	return p->fresh[p->fresh_used++];
}

static enum kf_code process_start(struct kf_judgement *j, bool first,
				  struct process *p, struct kf_check *check,
				  struct kf_err *err)
{
	const struct kf_bundle *b = j->req->bundle;
	enum kf_code code;

	*p = (struct process) { .first = first, .fresh_count = b->stock_count };
	p->fresh = kf_alloc((b->stock_count + 1) * sizeof(p->fresh[0]));
	for (size_t i = 0; i < b->stock_count; i++)
		p->fresh[i] = &b->stock[i];
	shuffle(&j->rng, p->fresh, p->fresh_count);
	code = kf_session_start(&j->shared, &p->session, check, err);
	if (!code && check->fault)
		note_check(j, check, false);
	p->start_ns = kf_now_ns();
	return code;
}

static void process_end(struct process *p)
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

/*
 * The calls before the first timed block: in the first process every verdict
 * set, in later ones the declared set once more (does it give the same there?)
 * and, if the stock is small, other sets; with stock entries among them, in
 * secret order.
 */
static size_t plan(struct kf_judgement *j, struct process *p,
		   const struct kf_case **list)
{
	const struct kf_bundle *b = j->req->bundle;
	bool small = b->stock_count < STOCK_FOR_WARMING;
	size_t count;

	if (p->first && j->req->rules == KF_RULES_KFORGE)
		count = add_some_sets(j, b->set_count, list);
	else
		count = add_some_sets(j, small ? WARM_CALLS : 1, list);
	for (size_t i = 0; p->first && i < b->set_count; i++)
		if (b->set[i].weight && j->req->rules == KF_RULES_KFORGE)
			list[count++] = &b->set[i];
	for (size_t i = 0; !small && i < WARM_CALLS; i++)
		list[count++] = next_fresh(p);
	shuffle(&j->rng, list, count);
	if (p->first)
		note_order(j, list, count);
	return count;
}

/* After a failure the sets that are left are still run, so that the verdict
 * can say on which kinds of data the candidate is right; but not for long. */
static bool go_on(const struct kf_judgement *j, const struct kf_check *last,
		  const struct kf_case *next, uint64_t failed_ns)
{
	if (dead(last))
		return false;
	if (!j->failure.fault)
		return j->calls_left > 0;
	return strcmp(next->kind, "stock") != 0 &&
		kf_now_ns() - failed_ns < AFTER_FAILURE_NS;
}

static enum kf_code run_plan(struct kf_judgement *j, struct process *p,
			     const struct kf_case *const *list, size_t count,
			     struct kf_err *err)
{
	struct kf_check *check = kf_alloc(sizeof(*check));
	uint64_t failed_ns = 0, slowest_ns = 0;
	enum kf_code code = KF_OK;

	for (size_t i = 0; i < count && !code; i++) {
		if (i > 0 && j->failure.fault && !failed_ns)
			failed_ns = kf_now_ns();
		if (i > 0 && !go_on(j, check, list[i], failed_ns))
			continue;
		code = call(j, p, list[i], false, check, err);
		if (!code && check->call.time_ns > slowest_ns)
			slowest_ns = check->call.time_ns;
	}
	j->call_ns = slowest_ns;
	free(check);
	return code;
}

/* What is left of the 50 ms: copying and comparing between calls keep the same
 * processors busy, so they count. At most an eighth of the stock. */
static enum kf_code warm(struct kf_judgement *j, struct process *p,
			 struct kf_err *err)
{
	size_t most = p->fresh_count / 8;
	struct kf_check *check = kf_alloc(sizeof(*check));
	enum kf_code code = KF_OK;

	for (size_t i = 0; i < most && !code && !j->failure.fault; i++) {
		if (kf_now_ns() - p->start_ns > WARM_NS ||
		    p->fresh_count - p->fresh_used <= BLOCK_CALLS ||
		    j->calls_left <= BLOCK_CALLS)
			break;
		code = call(j, p, next_fresh(p), false, check, err);
		if (!code)
			j->call_ns = check->call.time_ns;
	}
	free(check);
	return code;
}

/* --- blocks -------------------------------------------------------------- */

static unsigned block_calls(const struct kf_judgement *j,
			    const struct process *p)
{
	size_t stock = p->fresh_count, left = stock - p->fresh_used;
	uint64_t calls = BLOCK_CALLS;

	if (j->call_ns * calls > BLOCK_NS)
		calls = BLOCK_NS / j->call_ns;
	if (calls < BLOCK_CALLS_LEAST)
		calls = BLOCK_CALLS_LEAST;
	if (calls > stock)
		calls = stock;
	if (calls > left)
		return 0;	/* a fresh process has a whole block's worth */
	return (unsigned)(calls < j->calls_left ? calls : j->calls_left);
}

static void *grow(void *list, size_t count, size_t more, size_t size)
{
	return kf_realloc(list, (count + more) * size);
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

static enum kf_code time_baseline(struct kf_judgement *j,
				  const struct kf_case *const *kase,
				  unsigned count, unsigned *disturbed,
				  struct kf_err *err)
{
	uint64_t start_ns = kf_now_ns(), delay_ns[BLOCK_CALLS];
	enum kf_code code;

	j->baseline_ns = grow(j->baseline_ns, j->baseline_count, count,
			      sizeof(j->baseline_ns[0]));
	code = kf_baseline_time(j->req->baseline, kase, count,
				j->baseline_ns + j->baseline_count, delay_ns,
				err);
	j->out->baseline_took_ns += kf_now_ns() - start_ns;
	if (code)
		return code;
	for (unsigned i = 0; i < count; i++)
		*disturbed += disturbed_call(
			j->baseline_ns[j->baseline_count + i], delay_ns[i]);
	j->baseline_count += count;
	return KF_OK;
}

/* A block's median as a double that has a logarithm. */
static double block_median(const uint64_t *time_ns, unsigned count)
{
	uint64_t median = kf_stats_median_u64(time_ns, count);

	return (double)(median ? median : 1);
}

static void note_block(struct kf_judgement *j, unsigned count)
{
	size_t n = j->block_count;

	if (n > 0 && count < BLOCK_CALLS_LEAST &&
	    j->req->bundle->stock_count >= BLOCK_CALLS_LEAST)
		return;		/* the rest of a fixed plan: not a block */
	j->block_ns = grow(j->block_ns, n, 1, sizeof(double));
	j->block_baseline_ns = grow(j->block_baseline_ns, n, 1,
				    sizeof(double));
	j->block_ns[n] = block_median(j->time_ns + j->time_count - count,
				      count);
	j->block_baseline_ns[n] = j->req->baseline ?
		block_median(j->baseline_ns + j->baseline_count - count,
			     count) : 1;
	j->block_count++;
	kf_stats_ratio(j->block_ns, j->block_baseline_ns, j->block_count,
		       &j->ratio);
}

/* A pair of blocks that other programs disturbed is taken again, on other
 * data, so many times at most; a fixed plan of calls has none to spare. */
static bool taken_again(struct kf_judgement *j, unsigned count)
{
	if (j->req->call_count_fixed || j->disturbed_count >= DISTURBED_MAX)
		return false;
	j->disturbed_count++;
	j->time_count -= count;
	if (j->req->baseline)
		j->baseline_count -= count;
	return true;
}

static enum kf_code run_block(struct kf_judgement *j, struct process *p,
			      unsigned count, struct kf_err *err)
{
	const struct kf_case *kase[BLOCK_CALLS];
	struct kf_check *check = kf_alloc(sizeof(*check));
	unsigned disturbed = 0, baseline_disturbed = 0;
	enum kf_code code = KF_OK;

	j->time_ns = grow(j->time_ns, j->time_count, count,
			  sizeof(j->time_ns[0]));
	for (unsigned i = 0; i < count; i++) {
		kase[i] = next_fresh(p);
		code = call(j, p, kase[i], true, check, err);
		if (code || j->failure.fault)
			goto out;
		j->time_ns[j->time_count++] = check->call.time_ns;
		disturbed += disturbed_call(check->call.time_ns,
					    check->call.delay_ns);
	}
	if (j->req->baseline)
		code = time_baseline(j, kase, count, &baseline_disturbed, err);
	if (code)
		goto out;
	if (!(disturbed_block(disturbed, count) ||
	      disturbed_block(baseline_disturbed, count)) ||
	    !taken_again(j, count))
		note_block(j, count);
	p->blocks++;
out:
	free(check);
	return code;
}

static bool values_only(const struct kf_judgement *j)
{
	return j->req->stop_after == KF_REACH_VALUES;
}

/* From here to the end of the timing nobody else times on this device. A
 * baseline that still starts keeps processors busy, so it is waited for first.
 * The candidate is paused meanwhile. */
static enum kf_code take_device(struct kf_judgement *j, struct process *p,
				struct kf_err *err)
{
	const struct kf_evaluate_request *req = j->req;
	enum kf_code code = KF_OK;
	uint64_t start_ns = kf_now_ns();

	if (!req->lock_path || j->lock.held)
		return KF_OK;
	if (req->baseline)
		code = kf_baseline_time(req->baseline, NULL, 0, NULL, NULL,
					err);
	j->out->baseline_took_ns += kf_now_ns() - start_ns;
	if (!code)
		code = kf_lock_try(req->lock_path, &j->lock, err);
	if (code || j->lock.held)
		return code;
	kf_logf(req->log, KF_LOG_INFO, "waiting: another process times on "
		"%s", req->device_id);
	start_ns = kf_now_ns();
	code = kf_lock_wait(req->lock_path, KF_DEVICE_WAIT_NS, req->cancel,
			    &j->lock, err);
	j->waited_ns += kf_now_ns() - start_ns;
	p->start_ns = kf_now_ns();	/* it has cooled down */
	return code;
}

static bool timing_done(const struct kf_judgement *j)
{
	if (j->failure.fault || !j->calls_left || values_only(j))
		return true;
	if (j->timing_end_ns && kf_now_ns() > j->timing_end_ns)
		return true;
	return !j->req->call_count_fixed &&
		kf_stats_done(&kf_stop_default, &j->ratio);
}

static enum kf_code run_blocks(struct kf_judgement *j, struct process *p,
			       struct kf_err *err)
{
	enum kf_code code = KF_OK;

	if (!j->timing_end_ns)
		j->timing_end_ns = kf_now_ns() + TIMING_NS;
	while (!code && !timing_done(j) && p->blocks < BLOCKS_PER_PROCESS) {
		unsigned count = block_calls(j, p);

		if (!count)
			break;
		code = run_block(j, p, count, err);
	}
	return code;
}

static enum kf_code run_process(struct kf_judgement *j, bool first,
				struct kf_err *err)
{
	const struct kf_bundle *b = j->req->bundle;
	struct kf_check *check = kf_alloc(sizeof(*check));
	const struct kf_case **list;
	struct process p;
	enum kf_code code;

	list = kf_alloc((b->set_count + WARM_CALLS + 1) * sizeof(list[0]));
	code = process_start(j, first, &p, check, err);
	if (code || check->fault)
		goto out;
	code = run_plan(j, &p, list, plan(j, &p, list), err);
	if (code || j->failure.fault || values_only(j))
		goto out;
	code = take_device(j, &p, err);
	if (!code)
		code = warm(j, &p, err);
	if (!code && !j->failure.fault)
		code = run_blocks(j, &p, err);
out:
	process_end(&p);
	free(list);
	free(check);
	return code;
}

/* Under the benchmark's rules: what the other sets would have said. */
static enum kf_code run_other_sets(struct kf_judgement *j, struct kf_err *err)
{
	const struct kf_bundle *b = j->req->bundle;
	struct kf_check *check = kf_alloc(sizeof(*check));
	struct process p;
	enum kf_code code;

	code = process_start(j, false, &p, check, err);
	for (size_t i = 1; i < b->set_count && !code && !dead(check); i++)
		code = call(j, &p, &b->set[i], false, check, err);
	process_end(&p);
	free(check);
	return code;
}

enum kf_code kf_judgement_run(struct kf_judgement *j, struct kf_err *err)
{
	enum kf_code code = run_process(j, true, err);

	while (!code && !timing_done(j))
		code = run_process(j, false, err);
	kf_lock_release(&j->lock);
	if (!code && !j->failure.fault &&
	    j->req->rules == KF_RULES_KERNELBENCH)
		code = run_other_sets(j, err);
	return code;
}
