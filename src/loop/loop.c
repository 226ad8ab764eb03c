/*
 * The loop. One attempt goes through its stages in this order, each a folder
 * of src/:
 *
 *	problem -> prompt -> reply -> candidate -> verdict
 *		-> profile -> advice -> what next
 *
 * The last three are of the best program so far, once there is one. When no
 * attempt is left the best few are judged once more (rejudge.h).
 * What each stage yields is in the store before the next one begins, so a run
 * that was killed goes on at the stage where it stopped. run.c calls this for
 * each problem of a run.
 */
#include "loop/run.h"

#include <math.h>

#include "executor/away.h"
#include "loop/advise.h"
#include "loop/ask.h"
#include "loop/prompting.h"
#include "loop/publish.h"
#include "loop/rejudge.h"

static bool canceled(const struct kf_run *run)
{
	const volatile int *cancel = run->spec->setup.cancel;

	return cancel && *cancel;
}

/* --- problem -> prompt ---------------------------------------------------- */

/* A writer who has no analysis agent reads the profile himself. */
static enum kf_code make_prompt(struct kf_lane *lane,
				const struct kf_policy_next *next,
				unsigned number, struct kf_prompt *out,
				struct kf_err *err)
{
	const struct kf_look *look = &lane->look;
	bool alone = strcmp(lane->run->spec->advisor, "none") == 0;
	struct kf_prompting prompting = { 0 };
	enum kf_code code;

	code = kf_prompting_make(lane, next, number, &prompting, err);
	if (next->kind == KF_POLICY_OPTIMIZE) {
		prompting.req.advice = look->advice;
		prompting.req.page = alone && look->profile.end ? look->page :
				     NULL;
	}
	if (!code)
		code = kf_prompt_make(&prompting.req, out, err);
	kf_prompting_release(&prompting);
	return code;
}

/* --- prompt -> reply ------------------------------------------------------ */

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

/* The reply is on disk before anything else is done with it. */
static enum kf_code keep_reply(struct kf_lane *lane, struct kf_attempt *attempt,
			       const struct kf_prompt *prompt,
			       const struct kf_reply *reply,
			       struct kf_err *err)
{
	struct kf_store_reply row = kf_reply_row(reply, prompt);
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

static enum kf_code ask_model(struct kf_lane *lane, struct kf_attempt *attempt,
			      const struct kf_prompt *prompt,
			      unsigned token_max, struct kf_err *err)
{
	struct kf_reply reply = { 0 };
	enum kf_code code;

	code = kf_lane_ask(lane, &(struct kf_question) {
		.model = lane->run->model, .prompt = prompt,
		.attempt = attempt, .token_max = token_max,
	}, &reply, err);
	if (!code)
		code = keep_reply(lane, attempt, prompt, &reply, err);
	if (!code)
		kf_model_stored(lane->run->model);
	if (!code && reply.note[0])
		kf_lane_notice(lane, attempt, reply.note);
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

static enum kf_code keep_candidate(struct kf_lane *lane,
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
static enum kf_code keep_generation_failure(struct kf_lane *lane,
					    struct kf_attempt *attempt,
					    struct kf_err *err)
{
	struct kf_verdict verdict;
	enum kf_code code;
	json_t *json;

	kf_generation_failure(&attempt->candidate, &verdict);
	kf_lane_hint(lane, attempt, &verdict);
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
		kf_lane_tell(lane, (struct kf_event) { .kind = KF_EVENT_JUDGED,
					       .attempt = attempt });
	return code;
}

static enum kf_code take_candidate(struct kf_lane *lane,
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
		kf_lane_notice(lane, attempt, attempt->candidate.note);
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

static enum kf_code keep_verdict(struct kf_lane *lane,
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
		kf_lane_tell(lane, (struct kf_event) {
			.kind = KF_EVENT_JUDGED, .attempt = attempt,
			.verdict = verdict, .is_best = is_best,
		});
out:
	json_decref(json);
	return code;
}

static enum kf_code judge(struct kf_lane *lane, struct kf_attempt *attempt,
			  struct kf_err *err)
{
	struct kf_run *run = lane->run;
	bool profiled = run->setup.away &&
		strcmp(run->spec->profile, "none") != 0;
	char *folder = kf_format("%s/%s-%u", run->work_dir,
				 lane->target.problem.name, attempt->number);
	struct kf_job job = kf_run_job(run);
	struct kf_job_spec spec = {
		.setup = &run->setup,
		.target = &lane->target,
		.job = &job,
		.candidate = &attempt->candidate,
		.folder = folder,
	};
	struct kf_verdict verdict = { 0 };
	enum kf_code code;

	if (profiled)
		job.profile = (char *)(uintptr_t)run->spec->profile;
	kf_lane_tell(lane, (struct kf_event) { .kind = KF_EVENT_JUDGING,
				       .attempt = attempt });
	code = run->setup.away ? kf_away_judge(&spec, &verdict, err) :
	       kf_job_do(&spec, &verdict, err);
	if (!code) {
		kf_lane_hint(lane, attempt, &verdict);
		code = keep_verdict(lane, attempt, &verdict, err);
	}
	kf_verdict_release(&verdict);
	free(folder);
	return code;
}

/* --- verdict -> profile -> advice ----------------------------------------- */

/* For an attempt that is still to be asked for. */
static enum kf_code look_at_best(struct kf_lane *lane,
				 const struct kf_attempt *attempt,
				 const struct kf_policy_next *next,
				 struct kf_err *err)
{
	enum kf_code code;

	if (next->kind != KF_POLICY_OPTIMIZE ||
	    attempt->stage >= KF_STAGE_REPLIED)
		return KF_OK;
	code = kf_lane_profile(lane, &lane->attempts.attempt[next->best], err);
	return code ? code : kf_lane_advise(lane, attempt, next, err);
}

/* --- one attempt, from the stage where it stands -------------------------- */

/* Whose program the prompt asks to better or to repair; 0: nobody's. */
static int64_t parent_id(const struct kf_lane *lane,
			 const struct kf_policy_next *next)
{
	size_t parent = next->kind == KF_POLICY_OPTIMIZE ? next->best :
			next->previous;

	return parent == KF_POLICY_NO_ATTEMPT ? 0 :
	       lane->attempts.attempt[parent].id;
}

static enum kf_code ask_stage(struct kf_lane *lane, struct kf_attempt *attempt,
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
	token_max = kf_lane_token_ceiling(lane, &prompt);
	if (!token_max) {
		lane->budget_spent = true;
		goto out;
	}
	text = kf_prompt_to_json(&prompt, NULL);
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

static enum kf_code run_attempt(struct kf_lane *lane,
				struct kf_attempt *attempt,
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
static enum kf_code begin_from_files(struct kf_lane *lane, struct kf_err *err)
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

static struct kf_policy_next decide(const struct kf_lane *lane)
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
	size_t best = kf_policy_best(p, count);
	struct kf_policy_next next;

	rules.near_bound = best != KF_POLICY_NO_ATTEMPT &&
		kf_lane_near_bound(lane, &lane->attempts.attempt[best]);
	next = kf_policy_decide(&rules, p, count);
	free(p);
	return next;
}

/* The attempt that is on its way, or a new one. */
static struct kf_attempt *current_attempt(struct kf_lane *lane,
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

static enum kf_code run_attempts(struct kf_lane *lane,
				 enum kf_policy_kind *stop,
				 struct kf_err *err)
{
	struct kf_policy_next next = decide(lane);
	struct kf_attempt *attempt;
	enum kf_code code = KF_OK;
	size_t best;

	while (!code && !lane->budget_spent &&
	       (!kf_policy_stops(next.kind) ||
		kf_attempts_judged(&lane->attempts) < lane->attempts.count)) {
		if (canceled(lane->run))
			return kf_fail(err, KF_E_CANCELED, "stopped");
		attempt = current_attempt(lane, &next);
		code = look_at_best(lane, attempt, &next, err);
		if (!code)
			code = run_attempt(lane, attempt, &next, err);
		next = decide(lane);
	}
	best = best_index(&lane->attempts);
	if (!code && best != KF_POLICY_NO_ATTEMPT)
		code = kf_lane_keep_bound(lane, &lane->attempts.attempt[best],
					  err);
	*stop = next.kind;
	return code;
}

static void tell_end(const struct kf_lane *lane, enum kf_policy_kind stop)
{
	const struct kf_attempt *best = kf_attempts_best(&lane->attempts);
	struct kf_run_summary *summary = lane->run->summary;

	summary->correct_count += best != NULL;
	summary->budget_spent |= lane->budget_spent;
	kf_lane_tell(lane, (struct kf_event) {
		.kind = KF_EVENT_STOP,
		.best = best,
		.best_path = lane->best_path,
		.line = lane->budget_spent ? "token budget spent" :
			kf_policy_kind_name(stop),
	});
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
	struct kf_lane lane = {
		.run = run,
		.problem_id = kf_json_int(row, "id", 0),
	};
	enum kf_policy_kind stop = KF_POLICY_STOP_ATTEMPTS;
	enum kf_code code;

	code = kf_run_open_target(run, &run->setup, row, &lane.target, err);
	code = kf_run_check_health(run, lane.problem_id, &lane.target, code,
				   err);
	if (code) {
		code = pass_over(run, code, err);
		goto out;
	}
	kf_lane_tell(&lane, (struct kf_event) { .kind = KF_EVENT_PROBLEM,
					.bundle = &lane.target.bundle });
	code = kf_attempts_load(run->store, lane.problem_id, &lane.attempts,
				err);
	/* The session before may have been killed before this. */
	if (!code)
		code = kf_publish_from_store(run->store, lane.problem_id,
					     &lane.target.problem,
					     &lane.attempts, &lane.best_path,
					     err);
	if (!code)
		code = begin_from_files(&lane, err);
	if (!code)
		code = run_attempts(&lane, &stop, err);
	if (!code)
		code = kf_lane_rejudge(&lane, row, err);
	if (!code)
		tell_end(&lane, stop);
out:
	kf_look_release(&lane.look);
	kf_attempts_release(&lane.attempts);
	kf_target_release(&lane.target);
	free(lane.best_path);
	return code;
}
