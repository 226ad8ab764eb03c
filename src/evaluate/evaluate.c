#include "evaluate/evaluate.h"

#include <math.h>
#include <signal.h>

#include "evaluate/feedback.h"
#include "evaluate/weaken.h"

#define CALL_NS_MIN	(2 * KF_NS_PER_S)
#define CALL_NS_MAX	(60 * KF_NS_PER_S)
#define CALL_FACTOR	50	/* so much slower than the reference at most */

#define CALLS_LEAST	8u	/* beside the sets, in a fixed plan */

#define AHEAD		2u	/* processes, while the program is compiled */

#define NOTES_BYTES	4096u

/* Rough speeds of a slow machine, for references never measured. */
#define SLOW_OPERATIONS_PER_NS	1.0
#define SLOW_BYTES_PER_NS	1.0

static uint64_t call_timeout(const struct kf_evaluate_request *req)
{
	double reference_ns = (double)req->baseline_stored_ns;
	double timeout_ns;
	uint64_t limit_ns = CALL_NS_MAX;

	if (req->call_timeout_ns && req->call_timeout_ns < limit_ns)
		limit_ns = req->call_timeout_ns;
	if (reference_ns <= 0)
		reference_ns = req->bundle->flops / SLOW_OPERATIONS_PER_NS +
			req->bundle->bytes / SLOW_BYTES_PER_NS;
	timeout_ns = CALL_FACTOR * reference_ns;
	if (timeout_ns < CALL_NS_MIN)
		timeout_ns = CALL_NS_MIN;
	if (!(timeout_ns <= (double)limit_ns))	/* NaN too: unknown */
		return limit_ns;
	return (uint64_t)timeout_ns;
}

enum kf_code kf_evaluate_check_calls(const struct kf_problem *problem,
				     const struct kf_bundle *bundle,
				     unsigned call_count_fixed,
				     struct kf_err *err)
{
	size_t least = bundle->set_count + CALLS_LEAST;

	if (!call_count_fixed || call_count_fixed >= least)
		return KF_OK;
	return kf_fail(err, KF_E_INPUT, "too few calls to judge problem %s: "
		       "%u, and at least %zu are needed", problem->name,
		       call_count_fixed, least);
}

static enum kf_code check_request(const struct kf_evaluate_request *req,
				  struct kf_err *err)
{
	const struct kf_bundle *b = req->bundle;

	if (!b->set_count || !b->stock_count)
		return kf_fail(err, KF_E_INPUT, "the bundle of problem %s has "
			       "no data to judge with", req->problem->name);
	return kf_evaluate_check_calls(req->problem, b, req->call_count_fixed,
				       err);
}

void kf_judgement_init(const struct kf_evaluate_request *req,
		       struct kf_verdict *out, struct kf_judgement *j)
{
	const double nan = (double)NAN;

	*out = (struct kf_verdict) {
		.text.max = KF_FEEDBACK_BYTES,
		.in_process = req->platform->driver->in_process ||
			req->device_in_process,
		.kind = req->problem->kind,
		.time_ns = nan,
		.baseline_ns = nan,
		.eager_ns = nan,
		.compile_ns = nan,
		.speedup = { nan, nan, nan, nan, 0 },
		.stop_after = req->stop_after ? req->stop_after :
			KF_REACH_TIME,
		.rules = req->rules,
		.compiler_log.max = KF_BUILD_LOG_BYTES,
	};
	kf_judge_hash(req->platform, req->rules, out->judge_hash);
	snprintf(out->form, sizeof(out->form), "%s", req->platform->form ?
		 req->platform->form : "");
	snprintf(out->device, sizeof(out->device), "%s", req->device_name ?
		 req->device_name : req->device_id ? req->device_id : "");
	snprintf(out->device_id, sizeof(out->device_id), "%s",
		 req->device_id ? req->device_id : "");
	*j = (struct kf_judgement) {
		.req = req,
		.out = out,
		.seed = req->seed,
		.calls_left = req->call_count_fixed ? req->call_count_fixed :
			UINT32_MAX,
		.all_good = true,
		.ratio = { nan, nan, nan, nan, 0 },
		.floor = kf_floor_of(req),
		.notes.max = NOTES_BYTES,
		.order.max = NOTES_BYTES,
	};
	if (!j->seed)
		kf_random_bytes(&j->seed, sizeof(j->seed));
	if (!req->seed)		/* every reader of JSON keeps 53 bits */
		j->seed = (j->seed >> 11) + 1;
	j->rng.state = out->seed = j->seed;
	j->set = kf_alloc((req->bundle->set_count + 1) * sizeof(j->set[0]));
}

enum kf_code kf_judgement_open(struct kf_judgement *j, struct kf_err *err)
{
	enum kf_code code = check_request(j->req, err);

	if (code)
		return code;
	code = kf_session_shared_init(&j->shared, j->req, err);
	j->shared.timeout_ns = call_timeout(j->req);
	return code;
}

void kf_judgement_release(struct kf_judgement *j)
{
	kf_session_shared_release(&j->shared);
	free(j->set);
	free(j->time_ns);
	free(j->baseline_ns);
	free(j->block_ns);
	free(j->block_baseline_ns);
	kf_lock_release(&j->lock);
	kf_clock_log_release(&j->clocks);
	kf_buf_release(&j->order);
	kf_buf_release(&j->notes);
}

/* The processes that will run the program are made while it is compiled. */
static void make_processes(void *arg)
{
	static const size_t count[] = {
		[KF_REACH_NONE] = AHEAD,
		[KF_REACH_BUILD] = 0,
		[KF_REACH_VALUES] = 1,
		[KF_REACH_TIME] = AHEAD,
	};
	struct kf_judgement *j = arg;
	enum kf_reach reach = j->req->stop_after;

	if (reach == KF_REACH_TIME && kf_weak(KF_WEAK_PROTOCOL))
		reach = KF_REACH_VALUES;	/* one process will do */
	kf_session_shared_ahead(&j->shared, count[reach]);
}

static enum kf_code compile(struct kf_judgement *j,
			    struct kf_artefact *artefact, struct kf_err *err)
{
	const struct kf_evaluate_request *req = j->req;
	struct kf_build_job job = {
		.platform = req->platform,
		.device_id = req->device_id,
		.arch = req->device_arch,
		.source_dir = req->source_dir,
		.work_dir = req->work_dir,
		.python = &j->shared.python,
		.bundle = req->bundle,
		.tier_min = req->tier_min,
		.cancel = req->cancel,
		.meanwhile = make_processes,
		.meanwhile_arg = j,
	};
	struct kf_build build = { .log.max = KF_BUILD_LOG_BYTES };
	uint64_t start_ns = kf_now_ns();
	enum kf_code code = kf_build_run(&job, &build, artefact, err);

	kf_logf(req->log, KF_LOG_DEBUG, "built in %.1f ms, compiler %.1f ms",
		(double)(kf_now_ns() - start_ns) / 1e6,
		(double)build.took_ns / 1e6);

	j->out->compiler_ns = build.took_ns;
	j->out->tier = artefact->tier;
	memcpy(j->out->artefact_hash, artefact->hash, sizeof(artefact->hash));
	j->out->compiler = kf_strdup(artefact->compiler);
	kf_buf_add(&j->out->compiler_log, kf_buf_str(&build.log),
		   build.log.len);
	if (!code && build.end != KF_BUILD_DONE)
		kf_feedback_build(&build, req->platform->build_limits.wall_ns,
				  req->source_dir, j->out);
	kf_build_release(&build);
	return code;
}

/* --- what the times say -------------------------------------------------- */

static void note_ways(const struct kf_baseline *baseline,
		      struct kf_verdict *out)
{
	const struct kf_baseline_info *about = kf_baseline_about(baseline);
	json_t *json = json_is_object(about->about) ?
		json_deep_copy(about->about) : json_object();

	json_object_set_new(json, "way", json_string(about->way));
	json_object_set_new(json, "version", json_string(about->version));
	json_object_set_new(json, "eager_ns", kf_json_number(about->eager_ns));
	json_object_set_new(json, "compile_ns",
			    kf_json_number(about->compile_ns));
	out->baseline_about = json;
	if (!(about->compile_ns > 0))
		return;
	snprintf(out->baseline_way, sizeof(out->baseline_way), "%s",
		 about->way);
	out->eager_ns = about->eager_ns;
	out->compile_ns = about->compile_ns;
}

/* Which way it was, as it was told when it was measured. */
static void note_stored(const json_t *about, struct kf_verdict *out)
{
	double compile_ns = kf_json_real(about, "compile_ns", 0);

	out->baseline_about = about ? json_deep_copy(about) : NULL;
	if (!(compile_ns > 0))
		return;
	snprintf(out->baseline_way, sizeof(out->baseline_way), "%s",
		 kf_json_str(about, "way", "eager"));
	out->eager_ns = kf_json_real(about, "eager_ns", (double)NAN);
	out->compile_ns = compile_ns;
}

void kf_judgement_note_baseline(const struct kf_evaluate_request *req,
				struct kf_verdict *out)
{
	out->baseline_live = req->baseline != NULL;
	if (req->baseline)
		note_ways(req->baseline, out);
	else if (req->baseline_stored_ns)
		note_stored(req->baseline_stored_about, out);
}

static void compare_to_baseline(struct kf_judgement *j)
{
	struct kf_verdict *out = j->out;

	kf_judgement_note_baseline(j->req, out);
	if (j->req->baseline) {
		if (j->baseline_count)
			out->baseline_ns = (double)kf_stats_median_u64(
					j->baseline_ns, j->baseline_count);
		out->speedup = j->ratio;
	} else if (j->req->baseline_stored_ns) {
		out->baseline_ns = (double)j->req->baseline_stored_ns;
		out->speedup.ratio = out->baseline_ns / out->time_ns;
	}
}

static void note_ties(struct kf_judgement *j)
{
	if (j->tie_count || j->tie_chunk_count)
		kf_buf_printf(&j->notes, "where inputs are 1024 times as large "
			      "%lld single elements and %lld sums were off: so "
			      "few may be on the other side of what is nearly "
			      "a tie, and do not count\n",
			      (long long)j->tie_count,
			      (long long)j->tie_chunk_count);
}

/* Where the reference itself loses digits, so may a program then. */
static void note_no_exact(struct kf_judgement *j)
{
	const struct kf_bundle *b = j->req->bundle;
	size_t i = 0;

	while (i < b->out_count && b->out[i].dtype < KF_F16)
		i++;
	if (!b->has_exact && i < b->out_count)
		kf_buf_printf(&j->notes, "values were compared with the "
			      "reference's own %s results, for it could not be "
			      "run in float64\n",
			      kf_dtype_name(b->out[i].dtype));
}

static void conclude(struct kf_judgement *j)
{
	struct kf_verdict *out = j->out;
	uint64_t median;

	note_ties(j);
	if (out->stop_after == KF_REACH_VALUES) {
		kf_buf_puts(&j->notes, "no times were taken: it was to stop "
			    "after the values\n");
		return;
	}
	median = kf_stats_median_u64(j->time_ns, j->time_count);
	if (j->time_count)
		out->time_ns = (double)(median ? median : 1);
	compare_to_baseline(j);
	kf_judgement_doubt(j);
	if (j->repeated && !j->repeated_equal)
		kf_buf_puts(&j->notes, "not_deterministic: the same inputs "
			    "gave other bytes in another process, within "
			    "the bounds both times\n");
}

static void take_account(const struct kf_judgement *j, struct kf_verdict *out)
{
	out->call_count = j->shared.call_count;
	out->candidate_ns = j->shared.candidate_ns;
	out->prepare_ns = j->shared.prepare_ns;
	out->memory_bytes_peak = j->shared.memory_bytes_peak;
	out->kernelbench_good = j->kernelbench_seen && j->kernelbench_good;
	if (j->shared.tier != KF_TIER_NONE &&
	    (out->tier == KF_TIER_NONE || j->shared.tier < out->tier))
		out->tier = j->shared.tier;
}

void kf_judgement_tell(struct kf_judgement *j)
{
	kf_session_shared_close(&j->shared);
	take_account(j, j->out);
	j->out->killed = j->failure.fault == KF_FAULT_CALL &&
		j->failure.call.state == KF_CALL_SIGNAL &&
		j->failure.call.signal == SIGKILL;
	j->out->device_trouble = j->failure.fault == KF_FAULT_CALL &&
		j->failure.call.device_trouble;
	if (j->failure.fault != KF_FAULT_CALL)
		note_no_exact(j);
	if (j->failure.fault) {
		kf_feedback_failure(j);
	} else {
		j->out->reached = j->out->stop_after;
		conclude(j);
		kf_feedback_correct(j);
	}
	kf_evidence(j);
}

/* The program as processes will load it; one that cannot be made so has its
 * verdict. */
static enum kf_code load(struct kf_judgement *j, const char *artefact_path,
			 struct kf_err *err)
{
	struct kf_call_end *end = &j->failure.call;
	enum kf_code code = kf_session_shared_fill(&j->shared, artefact_path,
						   end, err);

	if (!code && end->state != KF_CALL_GOOD)
		j->failure.fault = KF_FAULT_CALL;
	return code;
}

static enum kf_code run(struct kf_judgement *j, const char *artefact_path,
			struct kf_err *err)
{
	enum kf_code code = load(j, artefact_path, err);

	if (!code && !j->failure.fault)
		code = kf_judgement_run(j, err);
	if (code)
		take_account(j, j->out);
	else
		kf_judgement_tell(j);
	return code;
}

static uint64_t rest_of(uint64_t all, const struct kf_verdict *v)
{
	uint64_t theirs = v->compiler_ns + v->candidate_ns +
		v->baseline_took_ns;

	return all > theirs ? all - theirs : 0;
}

enum kf_code kf_evaluate(const struct kf_evaluate_request *req,
			 struct kf_verdict *out, struct kf_err *err)
{
	struct kf_artefact artefact = { 0 };
	uint64_t start_ns = kf_now_ns();
	struct kf_judgement j;
	enum kf_code code;

	kf_judgement_init(req, out, &j);
	code = kf_judgement_open(&j, err);
	if (!code)
		code = compile(&j, &artefact, err);
	if (code || out->state)
		goto out;
	out->reached = KF_REACH_BUILD;
	if (out->stop_after == KF_REACH_BUILD)
		goto out;
	code = run(&j, artefact.path, err);
out:
	if (code) {		/* trouble of ours: no verdict */
		out->state = KF_STATE_NONE;
		out->reason[0] = '\0';
		out->reached = KF_REACH_NONE;
	}
	out->took_ns = kf_now_ns() - start_ns - j.waited_ns;
	out->ours_ns = rest_of(out->took_ns, out);
	kf_logf(req->log, KF_LOG_DEBUG, "judged: %s%s%s in %.0f ms, %u calls",
		kf_state_name(out->state), out->reason[0] ? ": " : "",
		out->reason, (double)out->took_ns / 1e6, out->call_count);
	kf_judgement_release(&j);
	kf_artefact_release(&artefact);
	return code;
}
