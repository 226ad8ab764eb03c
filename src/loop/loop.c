/*
 * The loop. One attempt goes through its stages in this order, each a folder
 * of src/:
 *
 *	problem -> prompt -> reply -> candidate -> verdict -> what next
 *
 * What each stage yields is in the store before the next one begins, so a run
 * that was killed goes on at the stage where it stopped. run.c calls this for
 * each problem of a run.
 */
#include "loop/run.h"

#include <math.h>

#include "executor/away.h"
#include "executor/shapes.h"
#include "loop/publish.h"
#include "loop/settings.h"

/* One problem of the run. */
struct lane {
	struct kf_run *run;
	int64_t problem_id;
	struct kf_target target;
	struct kf_attempts attempts;
	char *best_path;	/* owned; NULL until there is a best */
	bool budget_spent;
};

static void tell(const struct lane *lane, struct kf_event event)
{
	const struct kf_run *run = lane->run;

	event.problem = lane->target.problem.name;
	event.attempt_max = run->spec->attempt_max;
	if (run->watch && run->watch->event)
		run->watch->event(run->watch->arg, &event);
}

static bool canceled(const struct kf_run *run)
{
	const volatile int *cancel = run->spec->setup.cancel;

	return cancel && *cancel;
}

/* --- problem -> prompt ---------------------------------------------------- */

static char *prompt_to_json(const struct kf_prompt *prompt)
{
	json_t *object = json_object();
	char *text;

	json_object_set_new(object, "system",
			    kf_json_string(kf_buf_str(&prompt->system_text),
					   prompt->system_text.len));
	json_object_set_new(object, "user",
			    kf_json_string(kf_buf_str(&prompt->user_text),
					   prompt->user_text.len));
	text = kf_json_text(object);
	json_decref(object);
	return text;
}

static enum kf_code make_prompt(struct lane *lane,
				const struct kf_policy_next *next,
				unsigned number, struct kf_prompt *out,
				struct kf_err *err)
{
	const struct kf_run_spec *spec = lane->run->spec;
	const struct kf_attempts *list = &lane->attempts;
	size_t count = kf_attempts_judged(list);
	struct kf_prompt_attempt *history = kf_alloc((count + 1) *
						     sizeof(*history));
	struct kf_prompt_shape shape[KF_PROMPT_SHAPES];
	struct kf_prompt_request req = {
		.shape = shape,
		.shape_count = kf_loop_shapes(&lane->target, shape),
		.platform = lane->run->setup.platform,
		.device = &lane->run->setup.device,
		.problem = &lane->target.problem,
		.bundle = &lane->target.bundle,
		.prompts_dir = spec->prompts_dir,
		.attempt = number,
		.attempt_max = spec->attempt_max,
		.optimize = next->kind == KF_POLICY_OPTIMIZE,
		.plateau = next->plateau,
		.target_speedup = spec->target_speedup,
		.history = history,
		.history_count = count,
	};
	enum kf_code code;

	for (size_t i = 0; i < count; i++)
		history[i] = kf_attempt_for_prompt(&list->attempt[i]);
	if (next->previous != KF_POLICY_NO_ATTEMPT)
		req.previous = &history[next->previous];
	if (next->best != KF_POLICY_NO_ATTEMPT)
		req.best = &history[next->best];
	code = kf_prompt_make(&req, out, err);
	free(history);
	return code;
}

/* --- prompt -> reply ------------------------------------------------------ */

struct listening { const struct lane *lane; const struct kf_attempt *attempt; };

static void on_progress(void *arg, size_t reply_bytes, size_t reasoning_bytes)
{
	const struct listening *l = arg;

	tell(l->lane, (struct kf_event) {
		.kind = KF_EVENT_PROGRESS, .attempt = l->attempt,
		.reply_bytes = reply_bytes, .reasoning_bytes = reasoning_bytes,
	});
}

static void on_notice(void *arg, const char *line)
{
	const struct listening *l = arg;

	tell(l->lane, (struct kf_event) {
		.kind = KF_EVENT_NOTICE, .attempt = l->attempt, .line = line,
	});
}

/* The reply's ceiling in tokens, lowered so that the budget holds whatever
 * the model does; 0 when the budget cannot pay for another reply. */
static unsigned token_ceiling(const struct kf_run *run,
			      const struct kf_prompt *prompt)
{
	const struct kf_run_spec *spec = run->spec;
	unsigned most = spec->token_max ? spec->token_max : KF_REPLY_TOKENS;
	uint64_t prompt_tokens, left;

	if (!spec->budget_tokens)
		return most;
	prompt_tokens = kf_tokens_estimate(prompt->system_text.len +
					   prompt->user_text.len);
	if (run->summary->tokens + prompt_tokens >= spec->budget_tokens)
		return 0;
	left = spec->budget_tokens - run->summary->tokens - prompt_tokens;
	return left < most ? (unsigned)left : most;
}

static enum kf_finish finish_of(enum kf_reply_finish finish)
{
	static const enum kf_finish of[] = {
		[KF_REPLY_NONE] = KF_FINISH_UNKNOWN,
		[KF_REPLY_STOP] = KF_FINISH_STOP,
		[KF_REPLY_LENGTH] = KF_FINISH_LENGTH,
		[KF_REPLY_REFUSED] = KF_FINISH_REFUSED,
		[KF_REPLY_OTHER] = KF_FINISH_UNKNOWN,
	};

	return of[finish];
}

/* A service that reports no tokens is charged by our estimate. */
static uint64_t tokens_in(const struct kf_reply *reply,
			  const struct kf_prompt *prompt)
{
	return reply->tokens_reported ? reply->tokens_in :
	       kf_tokens_estimate(prompt->system_text.len +
				  prompt->user_text.len);
}

static uint64_t tokens_out(const struct kf_reply *reply)
{
	return reply->tokens_reported ? reply->tokens_out :
	       kf_tokens_estimate(reply->text.len + reply->reasoning.len);
}

/* The reply is on disk before anything else is done with it. */
static enum kf_code keep_reply(struct lane *lane, struct kf_attempt *attempt,
			       const struct kf_prompt *prompt,
			       const struct kf_reply *reply,
			       struct kf_err *err)
{
	struct kf_store_reply row = {
		.text = kf_buf_str(&reply->text),
		.text_len = reply->text.len,
		.reasoning = reply->reasoning.len ?
			kf_buf_str(&reply->reasoning) : NULL,
		.reasoning_len = reply->reasoning.len,
		.finish = kf_reply_finish_name(reply->finish),
		.model = reply->model,
		.tokens_in = tokens_in(reply, prompt),
		.tokens_out = tokens_out(reply),
		.took_ns = reply->took_ns,
		.tries = reply->tries,
	};
	enum kf_code code;

	code = kf_store_reply(lane->run->store, attempt->id, &row, err);
	if (code)
		return code;
	attempt->stage = KF_STAGE_REPLIED;
	attempt->finish = finish_of(reply->finish);
	attempt->tokens = row.tokens_in + row.tokens_out;
	lane->run->summary->tokens += attempt->tokens;
	lane->run->summary->asked_count++;
	kf_buf_clear(&attempt->reply);
	kf_buf_add(&attempt->reply, row.text, row.text_len);
	kf_attempt_summarize(attempt);
	return KF_OK;
}

static enum kf_code ask_model(struct lane *lane, struct kf_attempt *attempt,
			      const struct kf_prompt *prompt,
			      unsigned token_max, struct kf_err *err)
{
	const struct kf_run_spec *spec = lane->run->spec;
	struct kf_message message[] = {
		{ KF_ROLE_SYSTEM, kf_buf_str(&prompt->system_text) },
		{ KF_ROLE_USER, kf_buf_str(&prompt->user_text) },
	};
	struct listening listening = { lane, attempt };
	struct kf_ask ask = {
		.problem = lane->target.problem.name,
		.attempt = attempt->number,
		.message = message,
		.message_count = KF_COUNT(message),
		.token_max = token_max,
		.temperature = spec->temperature,
		.timeout_ns = spec->ask_timeout_ns,
		.cancel = spec->setup.cancel,
		.progress = on_progress,
		.progress_arg = &listening,
		.notice = on_notice,
		.notice_arg = &listening,
	};
	struct kf_reply reply = { 0 };
	enum kf_code code;

	tell(lane, (struct kf_event) { .kind = KF_EVENT_ASK,
				       .attempt = attempt });
	code = kf_model_ask(lane->run->model, &ask, &reply, err);
	if (!code)
		code = keep_reply(lane, attempt, prompt, &reply, err);
	if (!code)
		kf_model_stored(lane->run->model);
	if (!code && reply.note[0])
		on_notice(&listening, reply.note);
	kf_reply_release(&reply);
	return code;
}

/* --- reply -> candidate --------------------------------------------------- */

static json_t *source_to_json(const struct kf_candidate *candidate)
{
	json_t *list = json_array();

	for (size_t i = 0; i < candidate->file_count; i++) {
		const struct kf_source_file *file = &candidate->file[i];
		json_t *entry = json_object();

		json_object_set_new(entry, "name", json_string(file->name));
		json_object_set_new(entry, "text",
				    kf_json_string(file->text, file->len));
		json_array_append_new(list, entry);
	}
	return list;
}

static enum kf_code keep_candidate(struct lane *lane,
				   struct kf_attempt *attempt,
				   struct kf_err *err)
{
	json_t *source = source_to_json(&attempt->candidate);
	enum kf_code code;

	code = kf_store_source(lane->run->store, attempt->id, source, err);
	if (!code)
		attempt->stage = KF_STAGE_EXTRACTED;
	json_decref(source);
	return code;
}

/* A reply without a program has its verdict already. */
static enum kf_code keep_generation_failure(struct lane *lane,
					    struct kf_attempt *attempt,
					    struct kf_err *err)
{
	struct kf_verdict verdict;
	enum kf_code code;
	json_t *json;

	kf_generation_failure(&attempt->candidate, &verdict);
	kf_verdict_set_health(&verdict, kf_target_health(&lane->target));
	json = kf_verdict_to_json(&verdict);
	code = kf_store_verdict(lane->run->store, attempt->id, json,
				kf_state_name(verdict.state), verdict.reason,
				verdict.time_ns, verdict.baseline_ns,
				verdict.speedup.ratio, err);
	if (!code)
		kf_attempt_judged(attempt, &verdict);
	json_decref(json);
	kf_verdict_release(&verdict);
	if (!code)
		tell(lane, (struct kf_event) { .kind = KF_EVENT_JUDGED,
					       .attempt = attempt });
	return code;
}

static enum kf_code take_candidate(struct lane *lane,
				   struct kf_attempt *attempt,
				   struct kf_err *err)
{
	size_t judged = kf_attempts_judged(&lane->attempts);
	struct kf_extract_request req = {
		.reply = kf_buf_str(&attempt->reply),
		.reply_len = attempt->reply.len,
		.finish = attempt->finish,
		.platform = lane->run->setup.platform,
		.previous_hash = judged ?
			lane->attempts.attempt[judged - 1].candidate.hash :
			NULL,
	};

	kf_candidate_extract(&req, &attempt->candidate);
	if (attempt->candidate.note[0])
		on_notice(&(struct listening) { lane, attempt },
			  attempt->candidate.note);
	if (attempt->candidate.end != KF_EXTRACT_GOOD)
		return keep_generation_failure(lane, attempt, err);
	return keep_candidate(lane, attempt, err);
}

/* --- candidate -> verdict ------------------------------------------------- */

static size_t best_index(const struct kf_attempts *list)
{
	size_t count = kf_attempts_judged(list);
	struct kf_policy_attempt *p = kf_attempts_for_policy(list, count);
	size_t best = kf_policy_best(p, count);

	free(p);
	return best;
}

static enum kf_code keep_verdict(struct lane *lane,
				 struct kf_attempt *attempt,
				 const struct kf_verdict *verdict,
				 struct kf_err *err)
{
	json_t *json = kf_verdict_to_json(verdict);
	enum kf_code code;
	bool is_best;

	code = kf_store_verdict(lane->run->store, attempt->id, json,
				kf_state_name(verdict->state), verdict->reason,
				verdict->time_ns, verdict->baseline_ns,
				verdict->speedup.ratio, err);
	if (code)
		goto out;
	kf_attempt_judged(attempt, verdict);
	is_best = best_index(&lane->attempts) ==
		  (size_t)(attempt - lane->attempts.attempt);
	if (is_best) {
		free(lane->best_path);
		lane->best_path = NULL;
		code = kf_publish_best(kf_store_dir(lane->run->store),
				       &lane->target.problem, attempt, json,
				       &lane->best_path, err);
	}
	if (!code)
		tell(lane, (struct kf_event) {
			.kind = KF_EVENT_JUDGED, .attempt = attempt,
			.verdict = verdict, .is_best = is_best,
		});
out:
	json_decref(json);
	return code;
}

static enum kf_code judge(struct lane *lane, struct kf_attempt *attempt,
			  struct kf_err *err)
{
	struct kf_run *run = lane->run;
	char *folder = kf_format("%s/%s-%u", run->work_dir,
				 lane->target.problem.name, attempt->number);
	struct kf_job job = {
		.platform = (char *)(uintptr_t)run->spec->setup.platform,
		.form = (char *)(uintptr_t)run->spec->setup.form,
		.rules = run->spec->rules,
		.baseline = run->spec->setup.baseline,
		.seed = run->spec->seed,
		.calls = run->spec->call_count_fixed,
		.threads = run->spec->setup.threads,
		.sandbox = run->spec->setup.tier_min,
	};
	struct kf_job_spec spec = {
		.setup = &run->setup,
		.target = &lane->target,
		.job = &job,
		.candidate = &attempt->candidate,
		.folder = folder,
	};
	struct kf_verdict verdict = { 0 };
	enum kf_code code;

	tell(lane, (struct kf_event) { .kind = KF_EVENT_JUDGING,
				       .attempt = attempt });
	code = run->setup.away ? kf_away_judge(&spec, &verdict, err) :
	       kf_job_do(&spec, &verdict, err);
	if (!code)
		code = keep_verdict(lane, attempt, &verdict, err);
	kf_verdict_release(&verdict);
	free(folder);
	return code;
}

/* --- one attempt, from the stage where it stands -------------------------- */

/* Whose program the prompt asks to better or to repair; 0: nobody's. */
static int64_t parent_id(const struct lane *lane,
			 const struct kf_policy_next *next)
{
	size_t parent = next->kind == KF_POLICY_OPTIMIZE ? next->best :
			next->previous;

	return parent == KF_POLICY_NO_ATTEMPT ? 0 :
	       lane->attempts.attempt[parent].id;
}

static enum kf_code ask_stage(struct lane *lane, struct kf_attempt *attempt,
			      const struct kf_policy_next *next,
			      struct kf_err *err)
{
	struct kf_prompt prompt = { 0 };
	unsigned token_max;
	enum kf_code code;
	char *text = NULL;

	code = make_prompt(lane, next, attempt->number, &prompt, err);
	if (code)
		goto out;
	token_max = token_ceiling(lane->run, &prompt);
	if (!token_max) {
		lane->budget_spent = true;
		goto out;
	}
	text = prompt_to_json(&prompt);
	code = kf_store_asked(lane->run->store, &(struct kf_store_ask) {
		.problem_id = lane->problem_id,
		.number = attempt->number,
		.kind = attempt->kind,
		.parent_id = parent_id(lane, next),
		.prompt = text,
		.prompt_len = strlen(text),
	}, &attempt->id, err);
	if (code)
		goto out;
	attempt->stage = KF_STAGE_ASKED;
	code = ask_model(lane, attempt, &prompt, token_max, err);
out:
	free(text);
	kf_prompt_release(&prompt);
	return code;
}

static enum kf_code run_attempt(struct lane *lane, struct kf_attempt *attempt,
				const struct kf_policy_next *next,
				struct kf_err *err)
{
	enum kf_code code = KF_OK;

	if (attempt->stage < KF_STAGE_REPLIED)
		code = ask_stage(lane, attempt, next, err);
	if (!code && attempt->stage == KF_STAGE_REPLIED)
		code = take_candidate(lane, attempt, err);
	if (!code && attempt->stage == KF_STAGE_EXTRACTED)
		code = judge(lane, attempt, err);
	return code;
}

/* --- one problem ---------------------------------------------------------- */

/* The program given by --start is attempt 0: judged, never asked for. */
static enum kf_code begin_from_files(struct lane *lane, struct kf_err *err)
{
	const struct kf_run_spec *spec = lane->run->spec;
	struct kf_attempt *attempt;
	enum kf_code code;

	if (!spec->start_count)
		return KF_OK;
	attempt = lane->attempts.count ? &lane->attempts.attempt[0] :
		  kf_attempts_append(&lane->attempts);
	if (attempt->stage >= KF_STAGE_EXTRACTED)
		return KF_OK;
	snprintf(attempt->kind, sizeof(attempt->kind), "start");
	code = kf_candidate_read(spec->start, spec->start_count,
				 lane->run->setup.platform,
				 &attempt->candidate, err);
	if (code)
		return code;
	if (attempt->candidate.end != KF_EXTRACT_GOOD)
		return kf_fail(err, KF_E_INPUT, "--start %s: %s",
			       spec->start[0], attempt->candidate.text);
	if (!attempt->stage)
		code = kf_store_asked(lane->run->store, &(struct kf_store_ask) {
			.problem_id = lane->problem_id,
			.kind = "start",
			.prompt = "",
		}, &attempt->id, err);
	return code ? code : keep_candidate(lane, attempt, err);
}

static struct kf_policy_next decide(const struct lane *lane)
{
	const struct kf_run_spec *spec = lane->run->spec;
	size_t count = kf_attempts_judged(&lane->attempts);
	struct kf_policy_attempt *p = kf_attempts_for_policy(&lane->attempts,
							     count);
	struct kf_policy_rules rules = {
		.attempt_max = spec->attempt_max,
		.start_count = spec->start_count ? 1 : 0,
		.target_speedup = spec->target_speedup,
	};
	struct kf_policy_next next = kf_policy_decide(&rules, p, count);

	free(p);
	return next;
}

/* The attempt that is on its way, or a new one. */
static struct kf_attempt *current_attempt(struct lane *lane,
					  const struct kf_policy_next *next)
{
	struct kf_attempts *list = &lane->attempts;
	size_t judged = kf_attempts_judged(list);
	struct kf_attempt *attempt;

	if (judged < list->count)
		return &list->attempt[judged];
	attempt = kf_attempts_append(list);
	attempt->number = (unsigned)judged + 1 -
			  (lane->run->spec->start_count ? 1 : 0);
	snprintf(attempt->kind, sizeof(attempt->kind), "%s",
		 kf_policy_kind_name(next->kind));
	return attempt;
}

static enum kf_code run_attempts(struct lane *lane, struct kf_err *err)
{
	struct kf_policy_next next = decide(lane);
	enum kf_code code = KF_OK;
	size_t best;

	while (!code && !lane->budget_spent &&
	       (!kf_policy_stops(next.kind) ||
		kf_attempts_judged(&lane->attempts) < lane->attempts.count)) {
		if (canceled(lane->run))
			return kf_fail(err, KF_E_CANCELED, "stopped");
		code = run_attempt(lane, current_attempt(lane, &next), &next,
				   err);
		next = decide(lane);
	}
	if (code)
		return code;
	best = best_index(&lane->attempts);
	lane->run->summary->correct_count += best != KF_POLICY_NO_ATTEMPT;
	lane->run->summary->budget_spent |= lane->budget_spent;
	tell(lane, (struct kf_event) {
		.kind = KF_EVENT_STOP,
		.best = best == KF_POLICY_NO_ATTEMPT ? NULL :
			&lane->attempts.attempt[best],
		.best_path = lane->best_path,
		.line = lane->budget_spent ? "token budget spent" :
			kf_policy_kind_name(next.kind),
	});
	return KF_OK;
}

/* The session before may have been killed between the verdict and this. */
static enum kf_code publish_again(struct lane *lane, struct kf_err *err)
{
	size_t best = best_index(&lane->attempts), count = 0;
	struct kf_attempt_row *row = NULL;
	const struct kf_attempt *attempt;
	json_t *verdict = NULL;
	enum kf_code code;

	if (best == KF_POLICY_NO_ATTEMPT)
		return KF_OK;
	attempt = &lane->attempts.attempt[best];
	code = kf_store_attempts(lane->run->store, lane->problem_id, &row,
				 &count, err);
	for (size_t i = 0; !code && i < count; i++)
		if (row[i].id == attempt->id)
			code = kf_json_parse(row[i].verdict_json,
					     strlen(row[i].verdict_json),
					     "a stored verdict", &verdict,
					     err);
	if (!code)
		code = kf_publish_best(kf_store_dir(lane->run->store),
				       &lane->target.problem, attempt,
				       verdict, &lane->best_path, err);
	json_decref(verdict);
	kf_attempt_rows_free(row, count);
	return code;
}

/* A problem in all shapes on which programs are judged: *out is an array of
 * *count, for kf_shapes_problems_free. */
static enum kf_code shapes_from_store(struct kf_run *run, const json_t *row,
				      struct kf_problem **out, size_t *count,
				      struct kf_err *err)
{
	const json_t *shapes = json_object_get(json_object_get(row, "info"),
					       "shapes");
	enum kf_code code = KF_OK;

	*count = json_array_size(shapes) ? json_array_size(shapes) : 1;
	*out = kf_alloc(*count * sizeof(**out));
	for (size_t i = 0; !code && i < *count; i++)
		code = kf_settings_problem(run->store, row,
					   json_array_get(shapes, i),
					   &(*out)[i], err);
	return code;
}

static enum kf_code open_target(struct kf_run *run, const json_t *row,
				struct kf_target *out, struct kf_err *err)
{
	struct kf_problem *problem;
	enum kf_code code;
	size_t count;

	code = shapes_from_store(run, row, &problem, &count, err);
	if (!code)
		code = run->setup.away ?
		       kf_away_open_take_shapes(&run->setup, problem, count,
						out, err) :
		       kf_target_open_take_shapes(&run->setup, problem, count,
						  out, err);
	kf_shapes_problems_free(problem, count);
	return code || run->setup.away ? code :
	       kf_evaluate_check_calls(&out->problem, &out->bundle,
				       run->spec->call_count_fixed, err);
}

/* A problem that is refused does not stop the others of its run. */
static enum kf_code pass_over(const struct kf_run *run, enum kf_code code,
			      const struct kf_err *err)
{
	if (run->summary->problem_count < 2 ||
	    (code != KF_E_INPUT && code != KF_E_LIMIT))
		return code;
	kf_logf(run->spec->setup.log, KF_LOG_ERROR, "%s; left out",
		err ? err->text : "a problem was refused");
	return KF_OK;
}

enum kf_code kf_run_problem(struct kf_run *run, const json_t *row,
			    struct kf_err *err)
{
	struct lane lane = {
		.run = run,
		.problem_id = kf_json_int(row, "id", 0),
	};
	enum kf_code code;

	code = open_target(run, row, &lane.target, err);
	code = kf_run_check_health(run, lane.problem_id, &lane.target, code,
				   err);
	if (code) {
		code = pass_over(run, code, err);
		goto out;
	}
	tell(&lane, (struct kf_event) { .kind = KF_EVENT_PROBLEM,
					.bundle = &lane.target.bundle });
	code = kf_attempts_load(run->store, lane.problem_id, &lane.attempts,
				err);
	if (!code)
		code = publish_again(&lane, err);
	if (!code)
		code = begin_from_files(&lane, err);
	if (!code)
		code = run_attempts(&lane, err);
out:
	kf_attempts_release(&lane.attempts);
	kf_target_release(&lane.target);
	free(lane.best_path);
	return code;
}
