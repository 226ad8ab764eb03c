/*
 * timing.c - the calls of a judgement: which cases, in which processes, in
 * which order. Values are looked at in every one of them (session_look.c);
 * times are taken from blocks of calls on fresh data, the baseline in turn.
 */
#include "evaluate/libraries.h"
#include "evaluate/process.h"
#include "evaluate/weaken.h"

#define TIMING_NS		(60 * KF_NS_PER_S)
#define DOUBTED_NS		(10 * KF_NS_PER_S)	/* see is_enough */
#define DISTURBED_MAX		20u	/* pairs of blocks taken again */
#define COLD_CALL_NS		(100 * KF_NS_PER_MS)	/* longer: not worth it */
#define COLD_TRIES		2u

static size_t whole_block(const struct kf_judgement *j)
{
	size_t calls = kf_block_calls(j->call_ns);
	size_t most = kf_block_most(j->req);

	return calls < most ? calls : most;
}

static unsigned block_calls(const struct kf_judgement *j,
			    const struct kf_process *p)
{
	size_t calls = whole_block(j);

	if (calls > p->fresh_count - p->fresh_used)
		return 0;	/* a fresh process has a whole block's worth */
	return (unsigned)(calls < j->calls_left ? calls : j->calls_left);
}

static void *grow(void *list, size_t count, size_t more, size_t size)
{
	return kf_realloc(list, (count + more) * size);
}

static enum kf_code time_baseline(struct kf_judgement *j,
				  const struct kf_case *const *kase,
				  unsigned count, bool *disturbed,
				  struct kf_err *err)
{
	uint64_t start_ns = kf_now_ns();
	enum kf_code code;

	j->baseline_ns = grow(j->baseline_ns, j->baseline_count, count,
			      sizeof(j->baseline_ns[0]));
	code = kf_block_baseline(j->req->baseline, kase, count,
				 j->baseline_ns + j->baseline_count, disturbed,
				 err);
	j->out->baseline_took_ns += kf_now_ns() - start_ns;
	if (!code)
		j->baseline_count += count;
	return code;
}

/*
 * A process gives one block, for all of its calls share its luck: where memory
 * happens to lie, above all. So blocks differ by that too, and the interval
 * has it (tests/unit/clock.h). On a device it gives several.
 */
static void note_block(struct kf_judgement *j, struct kf_process *p,
		       unsigned count)
{
	bool more = p->timed_count > 0 && !kf_session_opens_device(j->req);
	size_t n = j->block_count - more;

	if (!more && n > 0 && count < KF_BLOCK_CALLS_LEAST &&
	    count < whole_block(j))
		return;		/* the rest of a fixed plan: not a block */
	p->timed_count = more ? p->timed_count + count : count;
	count = p->timed_count;
	j->block_ns = grow(j->block_ns, n, 1, sizeof(double));
	j->block_baseline_ns = grow(j->block_baseline_ns, n, 1,
				    sizeof(double));
	j->block_ns[n] = kf_block_median(j->time_ns + j->time_count - count,
					 count);
	j->block_baseline_ns[n] = j->req->baseline ?
		kf_block_median(j->baseline_ns + j->baseline_count - count,
				count) : 1;
	j->block_count = n + 1;
	kf_stats_ratio(j->block_ns, j->block_baseline_ns, j->block_count,
		       &j->ratio);
}

/* A pair of blocks that other programs disturbed is taken again, on other
 * data, so many times at most; a fixed plan of calls has none to spare. */
static bool taken_again(struct kf_judgement *j, unsigned count)
{
	if (j->req->call_count_fixed || j->disturbed_count >= DISTURBED_MAX)
		return false;
	/* A time from a busy machine is better than none. */
	if (!j->block_count &&
	    (!j->calls_left || kf_now_ns() > j->timing_end_ns))
		return false;
	j->disturbed_count++;
	j->time_count -= count;
	if (j->req->baseline)
		j->baseline_count -= count;
	return true;
}

static enum kf_code time_candidate(struct kf_judgement *j, struct kf_process *p,
				   const struct kf_case *const *kase,
				   unsigned count, bool *disturbed,
				   struct kf_err *err)
{
	enum kf_code code;

	j->time_ns = grow(j->time_ns, j->time_count, count,
			  sizeof(j->time_ns[0]));
	code = kf_block_run(j, p, kase, count, j->time_ns + j->time_count,
			    disturbed, err);
	if (!code && !j->failure.fault)
		j->time_count += count;
	return code;
}

/*
 * A block of each, and a coin says which comes first: a machine that slows
 * down makes the second one slower. With the candidate always first that is a
 * lead; with the order reversed each time blocks of one side adjoin, and under
 * autocorrelation the interval gets too narrow (tests/unit/clock.h).
 */
static enum kf_code run_block(struct kf_judgement *j, struct kf_process *p,
			      unsigned count, struct kf_err *err)
{
	const unsigned sides = j->req->baseline ? 2 : 1;
	const uint64_t baseline_at = sides == 2 ? kf_rng_below(&j->rng, 2) : 1;
	const struct kf_case *kase[KF_BLOCK_CALLS];
	bool disturbed = false, steady = true;
	enum kf_code code = KF_OK;

	for (unsigned i = 0; i < count; i++)
		kase[i] = kf_process_fresh(p);
	kf_clock_log_begin(&j->clocks, j->req->platform->driver,
			   j->req->device_id);
	for (unsigned i = 0; i < sides && !code && !j->failure.fault; i++) {
		code = i == baseline_at ?
			time_baseline(j, kase, count, &disturbed, err) :
			time_candidate(j, p, kase, count, &disturbed, err);
		steady = kf_clock_log_look(&j->clocks);
	}
	if (code || j->failure.fault)
		return code;
	if ((disturbed || !steady) && taken_again(j, count))
		return KF_OK;
	note_block(j, p, count);
	p->turns++;
	return KF_OK;
}

static bool values_only(const struct kf_judgement *j)
{
	return j->req->stop_after == KF_REACH_VALUES;
}

/* A ratio that is not conclusive whatever its interval needs one, and no
 * narrow one: each block may cost seconds in which a process starts. */
static bool is_enough(const struct kf_judgement *j)
{
	return j->block_count >= kf_stop_default.block_min &&
		kf_judgement_doubts(j->req, j->out->in_process) &&
		kf_now_ns() - j->timing_start_ns > DOUBTED_NS;
}

static bool timing_done(const struct kf_judgement *j)
{
	if (j->failure.fault || !j->calls_left || values_only(j) ||
	    is_enough(j))
		return true;
	if (j->block_count && kf_now_ns() > j->timing_end_ns)
		return true;
	return !j->req->call_count_fixed &&
		kf_stats_done(&kf_stop_default, &j->ratio);
}

static enum kf_code run_blocks(struct kf_judgement *j, struct kf_process *p,
			       struct kf_err *err)
{
	const unsigned turns = j->req->call_count_fixed ||
		kf_session_opens_device(j->req) ? KF_BLOCKS_MOST : 1;
	enum kf_code code = KF_OK;

	if (!j->timing_end_ns) {
		j->timing_start_ns = kf_now_ns();
		j->timing_end_ns = j->timing_start_ns + TIMING_NS;
	}
	while (!code && !timing_done(j) && p->turns < turns) {
		unsigned count = block_calls(j, p);

		if (!count)
			break;
		code = run_block(j, p, count, err);
	}
	return code;
}

/* --- cold calls ----------------------------------------------------------- */

/* Ten calls at most of either side with inputs that are in no cache: told
 * beside the time, and compared with nothing. A fixed plan has none to spare.
 */
static bool wants_cold(const struct kf_judgement *j)
{
	return j->req->platform->driver->evict && !j->cold_over &&
		!j->req->call_count_fixed && !j->failure.fault &&
		!values_only(j) && j->call_ns <= COLD_CALL_NS;
}

static enum kf_code run_cold_block(struct kf_judgement *j,
				   struct kf_process *p, unsigned count,
				   bool *disturbed, struct kf_err *err)
{
	struct kf_baseline *baseline = j->req->baseline;
	const struct kf_case *kase[KF_BLOCK_CALLS];
	uint64_t time_ns[KF_BLOCK_CALLS];
	enum kf_code code;

	for (unsigned i = 0; i < count; i++)
		kase[i] = kf_process_fresh(p);
	p->session.evict = j->req->platform->driver->evict;
	code = kf_block_run(j, p, kase, count, time_ns, disturbed, err);
	p->session.evict = NULL;
	if (code || j->failure.fault)
		return code;
	j->cold_ns = kf_block_median(time_ns, count);
	if (!baseline)
		return KF_OK;
	kf_baseline_evict(baseline, j->req->platform->driver->evict);
	code = kf_block_baseline(baseline, kase, count, time_ns, disturbed,
				 err);
	kf_baseline_evict(baseline, NULL);
	if (!code)
		j->baseline_cold_ns = kf_block_median(time_ns, count);
	return code;
}

/* On what the last process has left, or else on a fresh one's stock. */
static enum kf_code run_cold(struct kf_judgement *j, struct kf_process *p,
			     struct kf_err *err)
{
	unsigned count = block_calls(j, p);
	bool disturbed = true;
	enum kf_code code = KF_OK;

	if (!count && p->turns)
		return KF_OK;
	j->cold_over = true;
	for (unsigned i = 0; i < COLD_TRIES && count && disturbed && !code &&
	     !j->failure.fault; i++) {
		disturbed = false;
		code = run_cold_block(j, p, count, &disturbed, err);
		count = block_calls(j, p);
	}
	return code;
}

/* How many processes will follow this one, as far as can be told. */
static size_t processes_left(const struct kf_judgement *j,
			     const struct kf_process *p)
{
	size_t block = whole_block(j);
	size_t warm = kf_process_warm_count(p->fresh_count);
	size_t blocks = (p->fresh_count - warm) / block;
	size_t need;

	blocks = blocks < 1 ? 1 : blocks;
	if (blocks > KF_BLOCKS_MOST)
		blocks = KF_BLOCKS_MOST;
	if (j->req->call_count_fixed)
		need = j->calls_left / block;
	else if (j->block_count < kf_stop_default.block_min)
		need = kf_stop_default.block_min - j->block_count;
	else
		return 1;
	return need > blocks ? (need - 1) / blocks : 0;
}

/* A process that opens a device takes far longer for that than for its calls:
 * the next ones do it while this one works. */
static void begin_next(struct kf_judgement *j, const struct kf_process *p)
{
	if (kf_session_opens_device(j->req) && !values_only(j))
		kf_session_shared_ahead(&j->shared, processes_left(j, p));
}

static enum kf_code time_process(struct kf_judgement *j, struct kf_process *p,
				 struct kf_err *err)
{
	uint64_t waited_ns = j->waited_ns;
	enum kf_code code = kf_device_take(j, err);

	if (j->waited_ns > waited_ns)	/* paused, it has cooled down */
		p->start_ns = kf_now_ns();
	if (!code)
		code = kf_process_warm(j, p, err);
	if (!code && !j->failure.fault)
		code = run_blocks(j, p, err);
	return code || !timing_done(j) || !wants_cold(j) ? code :
		run_cold(j, p, err);
}

/* What tells the program that no more of it is timed comes last, and takes none
 * of the time for measuring. */
static enum kf_code hold(struct kf_judgement *j, struct kf_process *p,
			 struct kf_err *err)
{
	uint64_t start_ns = kf_now_ns(), took_ns;
	enum kf_code code = kf_process_hold(j, p, err);

	took_ns = kf_now_ns() - start_ns;
	if (j->timing_end_ns) {
		j->timing_start_ns += took_ns;
		j->timing_end_ns += took_ns;
	}
	return code;
}

static enum kf_code run_process(struct kf_judgement *j, bool first,
				struct kf_err *err)
{
	struct kf_check *check = kf_alloc(sizeof(*check));
	const uint64_t start_ns = kf_now_ns();
	struct kf_lock shared = { 0 };
	struct kf_process p;
	enum kf_code code;

	code = kf_process_start(j, first, kf_rng_next(&j->rng), &p, check, err);
	if (j->timing_end_ns)	/* its start is not measuring */
		j->timing_end_ns += p.start_ns - start_ns;
	if (!code && !check->fault) {
		begin_next(j, &p);
		code = kf_device_share_sets(j, &shared, err);
	}
	if (!code && !check->fault)
		code = kf_process_sets(j, &p, err);
	kf_lock_release(&shared);
	if (!code && !j->failure.fault && !values_only(j))
		code = time_process(j, &p, err);
	if (!code && !j->failure.fault && !check->fault && first)
		code = hold(j, &p, err);
	if (!code && !j->failure.fault && first)
		code = kf_libraries_look(j, &p, err);
	kf_process_end(&p);
	free(check);
	return code;
}

/* --- below the floor ------------------------------------------------------ */

static double median_ns(const uint64_t *time_ns, size_t count)
{
	return (double)kf_stats_median_u64(time_ns, count);
}

/* Nobody looks twice at what is not conclusive in any case, and a fixed plan
 * has no calls to spare. */
static bool is_below_floor(const struct kf_judgement *j)
{
	return !j->failure.fault && !values_only(j) && j->time_count &&
		!j->req->call_count_fixed &&
		!kf_judgement_doubts(j->req, j->out->in_process) &&
		kf_floor_beaten(&j->floor,
				median_ns(j->time_ns, j->time_count),
				j->baseline_count ?
				median_ns(j->baseline_ns, j->baseline_count) :
				(double)j->req->baseline_stored_ns);
}

static void forget_times(struct kf_judgement *j)
{
	j->first_ns = median_ns(j->time_ns, j->time_count);
	j->time_count = j->baseline_count = j->block_count = 0;
	j->wall_ns = j->wall_count = j->doubted_count = 0;
	j->delay_ns = j->delay_count = 0;
	j->disturbed_count = 0;
	j->clocks.pair_count = j->clocks.unsteady_count = 0;
	j->clocks.changed_count = 0;
	j->timing_start_ns = j->timing_end_ns = 0;
	kf_stats_ratio(NULL, NULL, 0, &j->ratio);
}

/* Under the benchmark's rules: what the other sets would have said. */
static enum kf_code run_other_sets(struct kf_judgement *j, struct kf_err *err)
{
	const struct kf_bundle *b = j->req->bundle;
	struct kf_check *check = kf_alloc(sizeof(*check));
	struct kf_process p;
	enum kf_code code;

	code = kf_process_start(j, false, kf_rng_next(&j->rng), &p, check,
				err);
	for (size_t i = 1; i < b->set_count && !code; i++) {
		if (kf_process_dead(check))
			break;
		code = kf_process_call(j, &p, &b->set[i], false, check, err);
	}
	kf_process_end(&p);
	free(check);
	return code;
}

enum kf_code kf_judgement_run(struct kf_judgement *j, struct kf_err *err)
{
	enum kf_code code;

	if (kf_weak(KF_WEAK_PROTOCOL))
		return kf_weak_run(j, err);
	code = run_process(j, true, err);
	while (!code && (!timing_done(j) || wants_cold(j)))
		code = run_process(j, false, err);
	if (!code && is_below_floor(j)) {
		forget_times(j);
		while (!code && !timing_done(j))
			code = run_process(j, false, err);
	}
	kf_lock_release(&j->lock);
	if (!code && !j->failure.fault &&
	    j->req->rules == KF_RULES_KERNELBENCH)
		code = run_other_sets(j, err);
	return code;
}
