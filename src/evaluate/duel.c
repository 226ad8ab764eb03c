#include "evaluate/duel.h"

#include <math.h>

#include "evaluate/process.h"

#define PASSES		2u	/* blocks a side in a round */
#define SIDE_NS		(60 * KF_NS_PER_S)	/* so long for each side */
#define DISTURBED_MAX	20u	/* turns taken again */

/* One program of the duel: its judgement, and its process of this round. */
struct side {
	struct kf_evaluate_request req;
	struct kf_verdict verdict;
	struct kf_judgement judgement;
	struct kf_process process;
	bool started;
};

struct duel {
	const struct kf_duel_request *req;
	struct kf_duel *out;
	struct kf_rng rng;
	struct side side[KF_DUEL_PROGRAMS];
	struct kf_duel_round round[KF_DUEL_ROUNDS];
	size_t round_count;
	uint64_t end_ns;	/* on our clock */
};

/* One turn of all sides, each on the same block of inputs. */
struct turn {
	const struct kf_case *const *kase;
	unsigned count;
	double median_ns[KF_DUEL_SIDES];
	bool disturbed;
};

static bool is_wrong(const struct duel *d)
{
	return d->out->wrong < d->out->program_count;
}

/* --- one side ------------------------------------------------------------- */

static enum kf_code open_side(struct duel *d, size_t i, struct kf_err *err)
{
	const struct kf_duel_program *program = &d->req->program[i];
	struct side *s = &d->side[i];
	struct kf_judgement *j = &s->judgement;
	enum kf_code code;

	s->req = *d->req->base;
	s->req.work_dir = program->work_dir;
	s->req.call_count_fixed = 0;
	kf_judgement_init(&s->req, &s->verdict, j);
	code = kf_judgement_open(j, err);
	/* There may be room for the first of them alone, whose pauses would be
	 * shorter. */
	j->shared.inputs_here = true;
	if (!code)
		code = kf_session_shared_fill(&j->shared,
					      program->artefact_path,
					      &j->failure.call, err);
	if (!code && j->failure.call.state != KF_CALL_GOOD)
		j->failure.fault = KF_FAULT_CALL;
	return code;
}

static void note_wrong(struct duel *d, size_t i)
{
	if (!is_wrong(d) && d->side[i].judgement.failure.fault)
		d->out->wrong = i;
}

static enum kf_code start_side(struct duel *d, size_t i, uint64_t seed,
			       size_t keep, struct kf_err *err)
{
	struct kf_check *check = kf_alloc(sizeof(*check));
	struct side *s = &d->side[i];
	enum kf_code code;

	s->started = true;
	code = kf_process_start(&s->judgement, false, seed, &s->process, check,
				err);
	s->process.keep = keep;
	if (!code && !check->fault)
		code = kf_process_sets(&s->judgement, &s->process, err);
	if (!code && !s->judgement.failure.fault)
		code = kf_process_warm(&s->judgement, &s->process, err);
	if (!code)
		note_wrong(d, i);
	free(check);
	return code;
}

/* The processes end; what they used and had is added up. */
static void end_sides(struct duel *d)
{
	for (size_t i = 0; i < d->out->program_count; i++) {
		if (d->side[i].started)
			kf_process_end(&d->side[i].process);
		d->side[i].started = false;
	}
}

/* --- a turn --------------------------------------------------------------- */

static enum kf_code time_side(struct duel *d, size_t i, struct turn *turn,
			      struct kf_err *err)
{
	uint64_t time_ns[KF_BLOCK_CALLS];
	enum kf_code code;

	if (i < d->out->program_count)
		code = kf_block_run(&d->side[i].judgement,
				    &d->side[i].process, turn->kase,
				    turn->count, time_ns, &turn->disturbed,
				    err);
	else
		code = kf_block_baseline(d->req->base->baseline, turn->kase,
					 turn->count, time_ns,
					 &turn->disturbed, err);
	if (code)
		return code;
	if (i < d->out->program_count)
		note_wrong(d, i);
	if (!is_wrong(d))
		turn->median_ns[i] = kf_block_median(time_ns, turn->count);
	return KF_OK;
}

static enum kf_code run_turn(struct duel *d, const size_t *order,
			     bool reverse, struct turn *turn,
			     struct kf_err *err)
{
	struct kf_clock_log *clocks = &d->side[0].judgement.clocks;
	size_t count = d->out->side_count;
	enum kf_code code = KF_OK;

	turn->disturbed = false;
	kf_clock_log_begin(clocks, d->req->base->platform->driver,
			   d->req->base->device_id);
	for (size_t k = 0; k < count && !code && !is_wrong(d); k++) {
		code = time_side(d, order[reverse ? count - 1 - k : k], turn,
				 err);
		turn->disturbed |= !kf_clock_log_look(clocks);
	}
	return code;
}

/* --- a round -------------------------------------------------------------- */

/* How a round uses the stock: what comes after the warm-up, in blocks. */
struct share { size_t keep, turns; unsigned calls; };

static struct share share_of(const struct duel *d)
{
	size_t stock = d->req->base->bundle->stock_count;
	struct share share = { .keep = stock - kf_process_warm_count(stock) };
	uint64_t call_ns = 0;

	for (size_t i = 0; i < d->out->program_count; i++)
		if (d->side[i].judgement.call_ns > call_ns)
			call_ns = d->side[i].judgement.call_ns;
	share.calls = kf_block_calls(call_ns);
	while (share.calls > 1 && share.keep / share.calls < PASSES)
		share.calls--;
	share.turns = share.keep / share.calls;
	return share;
}

static bool taken_again(struct duel *d)
{
	if (d->out->disturbed_count >= DISTURBED_MAX)
		return false;
	d->out->disturbed_count++;
	return true;
}

/* Turns until two were quiet; what was disturbed is taken again on the inputs
 * that are left. A round without two is not counted. */
static enum kf_code run_turns(struct duel *d, struct kf_err *err)
{
	const struct kf_process *first = &d->side[0].process;
	struct share share = share_of(d);
	const size_t stock = d->req->base->bundle->stock_count;
	size_t wanted = share.turns < PASSES ? share.turns : PASSES, good = 0;
	struct kf_duel_round *round = &d->round[d->round_count];
	double sum[KF_DUEL_SIDES] = { 0 };
	size_t order[KF_DUEL_SIDES];

	kf_duel_order(&d->rng, d->out->side_count, order);
	d->out->block_calls = share.calls;
	for (size_t i = 0; i < share.turns && good < wanted; i++) {
		/* All sides began with the same order of the stock. */
		struct turn turn = {
			.kase = first->fresh + stock - (i + 1) * share.calls,
			.count = share.calls,
		};
		enum kf_code code = run_turn(d, order, good % 2, &turn, err);

		if (code || is_wrong(d))
			return code;
		if (turn.disturbed && taken_again(d))
			continue;
		for (size_t k = 0; k < d->out->side_count; k++)
			sum[k] += log(turn.median_ns[k]);
		good++;
	}
	if (good < wanted)
		return KF_OK;
	for (size_t k = 0; k < d->out->side_count; k++)
		round->time_ns[k] = exp(sum[k] / (double)good);
	d->round_count++;
	return KF_OK;
}

static enum kf_code run_round(struct duel *d, struct kf_err *err)
{
	uint64_t seed = kf_rng_next(&d->rng);
	size_t stock = d->req->base->bundle->stock_count;
	size_t keep = stock - kf_process_warm_count(stock);
	size_t order[KF_DUEL_SIDES];
	enum kf_code code = KF_OK;

	kf_duel_order(&d->rng, d->out->program_count, order);
	for (size_t k = 0; k < d->out->program_count && !code; k++)
		if (!is_wrong(d))
			code = start_side(d, order[k], seed, keep, err);
	if (!code && !is_wrong(d))
		code = run_turns(d, err);
	end_sides(d);
	kf_duel_settle(d->round, d->round_count, d->out);
	return code;
}

/* --- the duel ------------------------------------------------------------- */

static void take_account(struct duel *d, struct kf_verdict *wrong)
{
	struct kf_duel *out = d->out;

	for (size_t i = 0; i < out->program_count; i++) {
		const struct kf_session_shared *shared =
			&d->side[i].judgement.shared;

		out->call_count += shared->call_count;
		if (shared->tier != KF_TIER_NONE &&
		    (out->tier == KF_TIER_NONE || shared->tier < out->tier))
			out->tier = shared->tier;
	}
	if (!is_wrong(d))
		return;
	kf_judgement_tell(&d->side[out->wrong].judgement);
	*wrong = d->side[out->wrong].verdict;
	d->side[out->wrong].verdict = (struct kf_verdict) { 0 };
}

static void release(struct duel *d)
{
	end_sides(d);
	for (size_t i = 0; i < d->out->program_count; i++) {
		if (!d->side[i].judgement.req)
			continue;
		kf_judgement_release(&d->side[i].judgement);
		kf_verdict_release(&d->side[i].verdict);
	}
	free(d);
}

enum kf_code kf_duel_run(const struct kf_duel_request *req,
			 struct kf_duel *out, struct kf_verdict *wrong,
			 struct kf_err *err)
{
	size_t count = req->program_count;
	uint64_t seed = req->base->seed, start_ns = kf_now_ns();
	struct duel *d = kf_alloc(sizeof(*d));
	enum kf_code code = KF_OK;

	*wrong = (struct kf_verdict) { 0 };
	*out = (struct kf_duel) {
		.program_count = count, .wrong = count,
		.side_count = count + (req->base->baseline != NULL),
	};
	if (!seed)
		kf_random_bytes(&seed, sizeof(seed));
	*d = (struct duel) { .req = req, .out = out, .rng = { seed } };
	if (count < 2 || count > KF_DUEL_PROGRAMS) {
		out->program_count = 0;
		code = kf_fail(err, KF_E_INPUT, "a comparison takes 2 to %d "
			       "programs, not %zu", KF_DUEL_PROGRAMS, count);
	}
	for (size_t i = 0; i < out->program_count && !code; i++) {
		code = open_side(d, i, err);
		if (!code)
			note_wrong(d, i);
	}
	if (!code)
		code = kf_device_take(&d->side[0].judgement, err);
	d->end_ns = kf_now_ns() + SIDE_NS * out->side_count;
	while (!code && !is_wrong(d) && !kf_duel_done(out) &&
	       kf_now_ns() < d->end_ns)
		code = run_round(d, err);
	if (!code)
		take_account(d, wrong);
	out->took_ns = kf_now_ns() - start_ns -
		d->side[0].judgement.waited_ns;
	release(d);
	return code;
}

/* The pair has the program's time over the baseline's. */
static struct kf_ratio turned(const struct kf_ratio *r)
{
	return (struct kf_ratio) {
		1 / r->ratio, 1 / r->high, 1 / r->low, r->width,
		r->block_count,
	};
}

static void tell_floor(const struct kf_evaluate_request *req,
		       struct kf_verdict *verdict)
{
	struct kf_floor floor = kf_floor_of(req);
	struct kf_buf note = { .max = 512 };

	if (!kf_floor_beaten(&floor, verdict->time_ns, verdict->baseline_ns))
		return;
	verdict->conclusive = false;
	kf_floor_say(&floor, verdict->time_ns, &note);
	json_array_append_new(json_object_get(verdict->evidence, "notes"),
			      kf_json_string(kf_buf_str(&note), note.len));
	kf_buf_release(&note);
}

void kf_duel_tell(const struct kf_duel_request *req, const struct kf_duel *d,
		  size_t program, struct kf_verdict *verdict)
{
	size_t baseline = d->program_count;

	verdict->reached = KF_REACH_TIME;
	verdict->stop_after = KF_REACH_NONE;
	verdict->time_ns = d->time_ns[program];
	kf_judgement_note_baseline(req->base, verdict);
	if (d->side_count == baseline)
		return;
	verdict->baseline_ns = d->time_ns[baseline];
	verdict->speedup.ratio = verdict->baseline_ns / verdict->time_ns;
	for (size_t i = 0; i < d->pair_count; i++) {
		const struct kf_duel_pair *p = &d->pair[i];

		if (p->a != program || p->b != baseline)
			continue;
		verdict->speedup = turned(&p->ratio);
		verdict->conclusive = p->conclusive &&
			!kf_judgement_doubts(req->base, verdict->in_process);
	}
	tell_floor(req->base, verdict);
}
