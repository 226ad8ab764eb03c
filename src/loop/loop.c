/*
 * The loop. One attempt goes through its stages in this order, each a folder
 * of src/:
 *
 *	problem -> prompt -> reply -> candidate -> verdict -> what next
 *
 * What each stage yields is in the store before the next one begins, so a run
 * that was killed goes on at the stage where it stopped.
 */
#include "loop/loop.h"

#include <math.h>

#include "loop/publish.h"
#include "loop/settings.h"

struct loop {
	const struct kf_run_spec *spec;
	const struct kf_watch *watch;
	struct kf_run_summary *summary;
	struct kf_store *store;
	struct kf_model *model;
	struct kf_setup setup;
	char *work_dir;		/* owned; absolute, as sandboxes want it */
};

/* One problem of the run. */
struct lane {
	struct loop *loop;
	int64_t problem_id;
	struct kf_target target;
	struct kf_attempts attempts;
	char *best_path;	/* owned; NULL until there is a best */
	bool budget_spent;
};

static void tell(const struct lane *lane, struct kf_event event)
{
	const struct loop *loop = lane->loop;

	event.problem = lane->target.problem.name;
	event.attempt_max = loop->spec->attempt_max;
	if (loop->watch && loop->watch->event)
		loop->watch->event(loop->watch->arg, &event);
}

static bool canceled(const struct loop *loop)
{
	const volatile int *cancel = loop->spec->setup.cancel;

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
	const struct kf_run_spec *spec = lane->loop->spec;
	const struct kf_attempts *list = &lane->attempts;
	size_t count = kf_attempts_judged(list);
	struct kf_prompt_attempt *history = kf_alloc((count + 1) *
						     sizeof(*history));
	struct kf_prompt_request req = {
		.platform = lane->loop->setup.platform,
		.device = &lane->loop->setup.device,
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
static unsigned token_ceiling(const struct loop *loop,
			      const struct kf_prompt *prompt)
{
	const struct kf_run_spec *spec = loop->spec;
	unsigned most = spec->token_max ? spec->token_max : KF_REPLY_TOKENS;
	uint64_t prompt_tokens, left;

	if (!spec->budget_tokens)
		return most;
	prompt_tokens = kf_tokens_estimate(prompt->system_text.len +
					   prompt->user_text.len);
	if (loop->summary->tokens + prompt_tokens >= spec->budget_tokens)
		return 0;
	left = spec->budget_tokens - loop->summary->tokens - prompt_tokens;
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
		.reasoning = kf_buf_str(&reply->reasoning),
		.reasoning_len = reply->reasoning.len,
		.finish = kf_reply_finish_name(reply->finish),
		.model = reply->model,
		.tokens_in = tokens_in(reply, prompt),
		.tokens_out = tokens_out(reply),
		.took_ns = reply->took_ns,
		.tries = reply->tries,
	};
	enum kf_code code;

	code = kf_store_reply(lane->loop->store, attempt->id, &row, err);
	if (code)
		return code;
	attempt->stage = KF_STAGE_REPLIED;
	attempt->finish = finish_of(reply->finish);
	attempt->tokens = row.tokens_in + row.tokens_out;
	lane->loop->summary->tokens += attempt->tokens;
	lane->loop->summary->asked_count++;
	kf_buf_clear(&attempt->reply);
	kf_buf_add(&attempt->reply, row.text, row.text_len);
	kf_attempt_summarize(attempt);
	return KF_OK;
}

static enum kf_code ask_model(struct lane *lane, struct kf_attempt *attempt,
			      const struct kf_prompt *prompt,
			      unsigned token_max, struct kf_err *err)
{
	const struct kf_run_spec *spec = lane->loop->spec;
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
	code = kf_model_ask(lane->loop->model, &ask, &reply, err);
	if (!code)
		code = keep_reply(lane, attempt, prompt, &reply, err);
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

	code = kf_store_source(lane->loop->store, attempt->id, source, err);
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
	json = kf_verdict_to_json(&verdict);
	code = kf_store_verdict(lane->loop->store, attempt->id, json,
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
		.platform = lane->loop->setup.platform,
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

	code = kf_store_verdict(lane->loop->store, attempt->id, json,
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
		code = kf_publish_best(kf_store_dir(lane->loop->store),
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
	struct loop *loop = lane->loop;
	char *folder = kf_format("%s/%s-%u", loop->work_dir,
				 lane->target.problem.name, attempt->number);
	char *source_dir = kf_path_join(folder, "source");
	char *work_dir = kf_path_join(folder, "judge");
	struct kf_judge_spec spec = {
		.setup = &loop->setup,
		.target = &lane->target,
		.rules = loop->spec->rules,
		.seed = loop->spec->seed,
		.call_count_fixed = loop->spec->call_count_fixed,
		.source_dir = source_dir,
		.work_dir = work_dir,
	};
	struct kf_verdict verdict = { 0 };
	enum kf_code code;

	tell(lane, (struct kf_event) { .kind = KF_EVENT_JUDGING,
				       .attempt = attempt });
	code = kf_candidate_write(&attempt->candidate, source_dir, err);
	if (!code)
		code = kf_judge(&spec, &verdict, err);
	if (!code)
		code = keep_verdict(lane, attempt, &verdict, err);
	if (!code)
		code = kf_remove_tree(folder, err);
	kf_verdict_release(&verdict);
	free(work_dir);
	free(source_dir);
	free(folder);
	return code;
}

/* --- one attempt, from the stage where it stands -------------------------- */

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
	token_max = token_ceiling(lane->loop, &prompt);
	if (!token_max) {
		lane->budget_spent = true;
		goto out;
	}
	text = prompt_to_json(&prompt);
	code = kf_store_asked(lane->loop->store, lane->problem_id,
			      attempt->number, attempt->kind, text,
			      strlen(text), &attempt->id, err);
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
	const struct kf_run_spec *spec = lane->loop->spec;
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
				 lane->loop->setup.platform,
				 &attempt->candidate, err);
	if (code)
		return code;
	if (attempt->candidate.end != KF_EXTRACT_GOOD)
		return kf_fail(err, KF_E_INPUT, "--start %s: %s",
			       spec->start[0], attempt->candidate.text);
	if (!attempt->stage)
		code = kf_store_asked(lane->loop->store, lane->problem_id, 0,
				      "start", "", 0, &attempt->id, err);
	return code ? code : keep_candidate(lane, attempt, err);
}

static struct kf_policy_next decide(const struct lane *lane)
{
	const struct kf_run_spec *spec = lane->loop->spec;
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
			  (lane->loop->spec->start_count ? 1 : 0);
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
		if (canceled(lane->loop))
			return kf_fail(err, KF_E_CANCELED, "stopped");
		code = run_attempt(lane, current_attempt(lane, &next), &next,
				   err);
		next = decide(lane);
	}
	if (code)
		return code;
	best = best_index(&lane->attempts);
	lane->loop->summary->correct_count += best != KF_POLICY_NO_ATTEMPT;
	lane->loop->summary->budget_spent |= lane->budget_spent;
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

/* A problem as the store keeps it: it is judged by the text that the run
 * began with, whatever has become of the file. */
static enum kf_code problem_from_store(struct loop *loop, const json_t *row,
				       struct kf_problem *out,
				       struct kf_err *err)
{
	const json_t *info = json_object_get(row, "info");
	struct kf_buf text = { .max = KF_REPLY_BYTES };
	enum kf_code code;

	code = kf_store_get(loop->store, kf_json_str(info, "source", ""),
			    &text, err);
	*out = (struct kf_problem) {
		.path = kf_strdup(kf_json_str(info, "path", "")),
		.name = kf_strdup(kf_json_str(row, "name", "")),
		.source = kf_strdup(kf_buf_str(&text)),
	};
	snprintf(out->hash, sizeof(out->hash), "%s",
		 kf_json_str(row, "hash", ""));
	kf_buf_release(&text);
	return code;
}

static enum kf_code open_target_take_problem(const struct loop *loop,
					     struct kf_problem *problem,
					     struct kf_target *out,
					     struct kf_err *err)
{
	enum kf_code code = kf_target_open_take_problem(&loop->setup, problem,
							out, err);

	return code ? code :
	       kf_evaluate_check_calls(&out->problem, &out->bundle,
				       loop->spec->call_count_fixed, err);
}

/* A problem that is refused does not stop the others of its run. */
static enum kf_code pass_over(const struct loop *loop, enum kf_code code,
			      const struct kf_err *err)
{
	if (loop->summary->problem_count < 2 ||
	    (code != KF_E_INPUT && code != KF_E_LIMIT))
		return code;
	kf_logf(loop->spec->setup.log, KF_LOG_ERROR, "%s; left out",
		err ? err->text : "a problem was refused");
	return KF_OK;
}

static enum kf_code run_problem(struct loop *loop, const json_t *row,
				struct kf_err *err)
{
	struct lane lane = {
		.loop = loop,
		.problem_id = kf_json_int(row, "id", 0),
	};
	struct kf_problem problem = { 0 };
	enum kf_code code;
	size_t best;

	code = problem_from_store(loop, row, &problem, err);
	if (code) {
		kf_problem_release(&problem);
		return code;
	}
	code = open_target_take_problem(loop, &problem, &lane.target, err);
	if (code) {
		code = pass_over(loop, code, err);
		goto out;
	}
	tell(&lane, (struct kf_event) { .kind = KF_EVENT_PROBLEM,
					.bundle = &lane.target.bundle });
	code = kf_attempts_load(loop->store, lane.problem_id, &lane.attempts,
				err);
	best = code ? KF_POLICY_NO_ATTEMPT : best_index(&lane.attempts);
	if (best != KF_POLICY_NO_ATTEMPT)
		lane.best_path = kf_publish_path(kf_store_dir(loop->store),
						 &lane.target.problem);
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

/* --- the run -------------------------------------------------------------- */

static enum kf_code add_problem(struct loop *loop, const char *path,
				json_t *seen, struct kf_err *err)
{
	struct kf_problem_spec spec = loop->setup.problem_spec;
	struct kf_problem problem = { 0 };
	char hash[KF_HASH_HEX];
	json_t *info = NULL;
	enum kf_code code;
	int64_t id;

	spec.path = path;
	code = kf_problem_read(&spec, &problem, err);
	if (code)
		goto out;
	if (json_object_get(seen, problem.name)) {
		code = kf_fail(err, KF_E_INPUT,
			       "%s and %s would both be called %s in this run: "
			       "rename one file or make two runs",
			       kf_json_str(seen, problem.name, ""), path,
			       problem.name);
		goto out;
	}
	json_object_set_new(seen, problem.name, json_string(path));
	code = kf_store_put(loop->store, problem.source,
			    strlen(problem.source), hash, err);
	if (code)
		goto out;
	info = json_pack("{s:s, s:s}", "path", path, "source", hash);
	code = kf_store_problem_add(loop->store, problem.name, problem.hash,
				    info, &id, err);
out:
	json_decref(info);
	kf_problem_release(&problem);
	return code;
}

/* Every problem is read and kept before the first is worked on. A run that
 * was killed while doing so begins again here; later the files may go. */
static enum kf_code add_problems(struct loop *loop, struct kf_err *err)
{
	const struct kf_run_spec *spec = loop->spec;
	json_t *kept = NULL, *seen = json_object();
	enum kf_code code;

	code = kf_store_problems(loop->store, &kept, err);
	for (size_t i = 0; !code && i < spec->problem_count &&
	     json_array_size(kept) < spec->problem_count; i++)
		code = add_problem(loop, spec->problem[i], seen, err);
	json_decref(seen);
	json_decref(kept);
	return code;
}

/* What earlier sessions of this run have used. */
static enum kf_code count_past(struct loop *loop, struct kf_err *err)
{
	struct kf_attempt_row *row = NULL;
	enum kf_code code;
	size_t count = 0;

	code = kf_store_attempts(loop->store, 0, &row, &count, err);
	for (size_t i = 0; i < count; i++) {
		loop->summary->tokens += row[i].tokens_in + row[i].tokens_out;
		loop->summary->asked_count += row[i].reply_hash != NULL;
	}
	kf_attempt_rows_free(row, count);
	return code;
}

static enum kf_code run_problems(struct loop *loop, struct kf_err *err)
{
	json_t *list = NULL, *row;
	enum kf_code code;
	size_t i;

	code = add_problems(loop, err);
	if (!code)
		code = count_past(loop, err);
	if (!code)
		code = kf_store_problems(loop->store, &list, err);
	loop->summary->problem_count = json_array_size(list);
	json_array_foreach(list, i, row) {
		if (!code)
			code = run_problem(loop, row, err);
	}
	json_decref(list);
	return code;
}

static enum kf_code make_work_dir(struct loop *loop, struct kf_err *err)
{
	const char *run_dir = kf_store_dir(loop->store);
	char *absolute = realpath(run_dir, NULL);

	if (!absolute)
		return kf_fail_errno(err, "cannot find the run's folder %s",
				     run_dir);
	loop->work_dir = kf_path_join(absolute, "work");
	free(absolute);
	return kf_mkdir_p(loop->work_dir, err);
}

static enum kf_code run_with(const struct kf_run_spec *spec,
			     struct kf_store *store,
			     const struct kf_watch *watch,
			     struct kf_run_summary *out, struct kf_err *err)
{
	struct loop loop = { .spec = spec, .watch = watch, .summary = out,
			     .store = store };
	enum kf_code code;

	code = make_work_dir(&loop, err);
	if (!code)
		code = kf_setup_open(&spec->setup, &loop.setup, err);
	if (!code)
		code = kf_model_open(spec->model, spec->record_path,
				     &loop.model, err);
	if (!code)
		code = run_problems(&loop, err);
	kf_model_free(loop.model);
	kf_setup_release(&loop.setup);
	free(loop.work_dir);
	return code;
}

static enum kf_code resume_with(const struct kf_run_spec *given,
				struct kf_store *store,
				const struct kf_watch *watch,
				struct kf_run_summary *out,
				struct kf_err *err)
{
	struct kf_settings settings = { 0 };
	json_t *json = NULL;
	enum kf_code code;

	code = kf_store_settings(store, &json, err);
	if (!code)
		code = kf_settings_to_spec(json, &settings, err);
	if (code)
		goto out;
	settings.spec.run_dir = given->run_dir;
	settings.spec.setup.log = given->setup.log;
	settings.spec.setup.cancel = given->setup.cancel;
	settings.spec.setup.measure = given->setup.measure;
	if (given->model)
		settings.spec.model = given->model;
	code = run_with(&settings.spec, store, watch, out, err);
out:
	kf_settings_release(&settings);
	json_decref(json);
	return code;
}

static enum kf_code begin(const struct kf_run_spec *spec,
			  struct kf_store *store, struct kf_err *err)
{
	json_t *settings = kf_settings_from_spec(spec);
	enum kf_code code = kf_store_settings_set(store, settings, err);

	json_decref(settings);
	return code;
}

/* Where it cannot be told, there may be some. */
static bool has_attempts(struct kf_store *store)
{
	struct kf_attempt_row *row = NULL;
	size_t count = 0;
	enum kf_code code = kf_store_attempts(store, 0, &row, &count, NULL);

	kf_attempt_rows_free(row, count);
	return code || count;
}

/* A new run that failed before it had an attempt leaves nothing behind: its
 * settings are what was wrong, and they cannot be resumed into right ones. */
enum kf_code kf_loop_run(const struct kf_run_spec *spec, bool resume,
			 const struct kf_watch *watch,
			 struct kf_run_summary *out, struct kf_err *err)
{
	struct kf_store *store = NULL;
	enum kf_code code;

	*out = (struct kf_run_summary) { 0 };
	code = kf_store_open(spec->run_dir,
			     resume ? KF_STORE_WRITE : KF_STORE_CREATE,
			     &store, err);
	if (code)
		return code;
	if (resume)
		code = resume_with(spec, store, watch, out, err);
	else
		code = begin(spec, store, err);
	if (!code && !resume)
		code = run_with(spec, store, watch, out, err);
	if (code && code != KF_E_CANCELED && !resume && !has_attempts(store)) {
		kf_store_discard(store);
		*out = (struct kf_run_summary) { 0 };
	} else {
		kf_store_close(store);
	}
	return code;
}
