#include "loop/rejudge.h"

#include <math.h>

#include "executor/away.h"
#include "executor/contest.h"
#include "loop/ask.h"
#include "loop/publish.h"
#include "store/second.h"

/* The second judgement of a few attempts, under way. */
struct again {
	struct kf_lane *lane;
	uint64_t seed;
	char *folder;			/* owned; ours, below the run's work */
	char *cache;			/* owned; in it: the target borrows it */
	struct kf_target target;	/* with data drawn anew; empty where
					   another machine judges */
	size_t count;
	struct kf_attempt *attempt[KF_REJUDGE_MAX];
	struct kf_contestant contestant[KF_REJUDGE_MAX];
	unsigned place[KF_REJUDGE_MAX];
	json_t *duel;			/* owned; NULL: one by one */
};

static void again_release(struct again *a)
{
	for (size_t i = 0; i < a->count; i++)
		kf_contestant_release(&a->contestant[i]);
	kf_target_release(&a->target);
	json_decref(a->duel);
	(void)!kf_remove_tree(a->folder, NULL);
	free(a->folder);
	free(a->cache);
}

/* --- who ------------------------------------------------------------------ */

/* The attempts with the same program as this one have no turn of their own. */
static void strike(const struct kf_attempts *list, struct kf_policy_attempt *p,
		   size_t count, size_t which)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(list->attempt[i].candidate.hash,
			   list->attempt[which].candidate.hash) == 0)
			p[i].state = KF_MISMATCH;
}

/* The best few that were judged once only, best first. */
static void choose(struct again *a)
{
	struct kf_attempts *list = &a->lane->attempts;
	size_t most = a->lane->run->spec->rejudge_count, best;
	size_t count = kf_attempts_judged(list);
	struct kf_policy_attempt *p = kf_attempts_for_policy(list, count);

	for (size_t i = 0; i < count; i++)
		if (list->attempt[i].second.state)
			strike(list, p, count, i);
	while (a->count < most && a->count < KF_REJUDGE_MAX) {
		best = kf_policy_best(p, count);
		if (best == KF_POLICY_NO_ATTEMPT)
			break;
		a->attempt[a->count] = &list->attempt[best];
		a->contestant[a->count].candidate =
			&list->attempt[best].candidate;
		a->count++;
		strike(list, p, count, best);
	}
	free(p);
}

/* --- on what -------------------------------------------------------------- */

/* A reference on a device keeps memory: one at a time. */
static void end_baselines(struct kf_target *target)
{
	for (size_t i = 0; i < target->more_count; i++)
		end_baselines(&target->more[i]);
	kf_baseline_free(target->baseline);
	target->baseline = NULL;
}

static void copy_stored(const struct kf_target *from, struct kf_target *to)
{
	to->baseline_stored_ns = from->baseline_stored_ns;
	to->baseline_stored_about = json_incref(from->baseline_stored_about);
	for (size_t i = 0; i < to->more_count && i < from->more_count; i++)
		copy_stored(&from->more[i], &to->more[i]);
}

/* A cache of its own has no bundle, so one is made, from seeds of its own. */
static enum kf_code draw_data(struct again *a, const json_t *row,
			      struct kf_err *err)
{
	struct kf_run *run = a->lane->run;
	struct kf_setup setup = run->setup;
	enum kf_code code;

	a->cache = kf_path_join(a->folder, "cache");
	setup.problem_spec.cache_path = a->cache;
	if (setup.baseline == KF_BASELINE_STORED)
		setup.baseline = KF_BASELINE_NONE;
	end_baselines(&a->lane->target);
	code = kf_run_open_target(run, &setup, row, &a->target, err);
	if (!code)
		copy_stored(&a->lane->target, &a->target);
	return code;
}

static enum kf_code take_seed(struct again *a, struct kf_err *err)
{
	const struct kf_run *run = a->lane->run;
	uint64_t seed = run->spec->seed + 1;

	if (!run->spec->seed)
		kf_random_bytes(&seed, sizeof(seed));
	return kf_store_second_seed(run->store, a->lane->problem_id,
				    seed % (INT64_MAX - 1) + 1, &a->seed, err);
}

/* --- judged --------------------------------------------------------------- */

static bool is_in_turn(const struct again *a)
{
	const struct kf_run *run = a->lane->run;

	return a->count > 1 && !run->setup.away && !a->target.more_count &&
	       !run->spec->call_count_fixed;
}

static struct kf_judge_spec how(const struct again *a, enum kf_reach reach)
{
	struct kf_run *run = a->lane->run;

	return (struct kf_judge_spec) {
		.setup = &run->setup,
		.target = &a->target,
		.rules = run->spec->rules,
		.libraries = run->spec->libraries,
		.seed = a->seed,
		.call_count_fixed = run->spec->call_count_fixed,
		.stop_after = reach,
	};
}

static enum kf_code judge_here(struct again *a, size_t i, enum kf_reach reach,
			       struct kf_err *err)
{
	struct kf_judge_spec spec = how(a, reach);
	char *folder = kf_format("%s/%zu", a->folder, i);
	enum kf_code code = kf_contest_judge(&spec, folder, &a->contestant[i],
					     err);

	free(folder);
	return code;
}

/* Another seed makes it another job. */
static enum kf_code judge_away(struct again *a, size_t i, struct kf_err *err)
{
	struct kf_run *run = a->lane->run;
	struct kf_job job = kf_run_job(run);
	char *folder = kf_format("%s-%u", a->folder, a->attempt[i]->number);
	enum kf_code code;

	job.seed = a->seed;
	code = kf_away_judge(&(struct kf_job_spec) {
		.setup = &run->setup, .target = &a->lane->target, .job = &job,
		.candidate = a->contestant[i].candidate, .folder = folder,
	}, &a->contestant[i].verdict, err);
	free(folder);
	return code;
}

static enum kf_code judge_each(struct again *a, struct kf_err *err)
{
	enum kf_reach reach = is_in_turn(a) ? KF_REACH_VALUES : KF_REACH_NONE;
	enum kf_code code = KF_OK;

	for (size_t i = 0; !code && i < a->count; i++) {
		kf_lane_tell(a->lane, (struct kf_event) {
			.kind = KF_EVENT_JUDGING, .attempt = a->attempt[i] });
		code = a->lane->run->setup.away ? judge_away(a, i, err) :
		       judge_here(a, i, reach, err);
	}
	return code;
}

/* --- timed ---------------------------------------------------------------- */

/* Those that are still correct; returns how many. */
static size_t correct_ones(const struct again *a,
			   size_t index[KF_REJUDGE_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < a->count; i++)
		if (a->contestant[i].verdict.state == KF_CORRECT)
			index[count++] = i;
	return count;
}

static void keep_duel(struct again *a, const struct kf_duel *duel,
		      const size_t *index, size_t count)
{
	const char *name[KF_DUEL_SIDES] = { NULL };
	char text[KF_DUEL_PROGRAMS][32];

	for (size_t i = 0; i < count; i++) {
		snprintf(text[i], sizeof(text[i]), "attempt %u",
			 a->attempt[index[i]]->number);
		name[i] = text[i];
	}
	name[count] = kf_problem_baseline_words(
			a->lane->target.problem.kind);
	a->duel = kf_duel_to_json(duel, name);
}

/* One that is found to be wrong on the way is left out, and the others begin
 * anew; the last one left is judged as one alone is. */
static enum kf_code time_in_turn(struct again *a, struct kf_err *err)
{
	struct kf_judge_spec spec = how(a, KF_REACH_NONE);
	struct kf_contestant *contestant[KF_REJUDGE_MAX];
	size_t index[KF_REJUDGE_MAX], count;
	struct kf_duel duel;
	enum kf_code code;

	while ((count = correct_ones(a, index)) > 1) {
		for (size_t i = 0; i < count; i++)
			contestant[i] = &a->contestant[index[i]];
		code = kf_contest_duel(&spec, contestant, count, &duel, err);
		if (code)
			return code;
		if (duel.wrong == count) {
			keep_duel(a, &duel, index, count);
			return KF_OK;
		}
	}
	return count ? judge_here(a, index[0], KF_REACH_NONE, err) : KF_OK;
}

static void rank(struct again *a)
{
	struct kf_policy_attempt p[KF_REJUDGE_MAX];
	unsigned place = 1;
	size_t best;

	for (size_t i = 0; i < a->count; i++) {
		const struct kf_verdict *v = &a->contestant[i].verdict;

		p[i] = (struct kf_policy_attempt) {
			.state = v->state, .time_ns = v->time_ns,
			.speedup = v->speedup.ratio,
			.speedup_low = v->speedup.low,
			/* Times of one session need no baseline between. */
			.conclusive = !a->duel && v->conclusive &&
				isfinite(v->speedup.ratio),
		};
	}
	while ((best = kf_policy_best(p, a->count)) != KF_POLICY_NO_ATTEMPT) {
		a->place[best] = place++;
		p[best].state = KF_MISMATCH;
	}
}

/* --- kept, and told ------------------------------------------------------- */

static json_t *verdict_to_json(const struct again *a, size_t i)
{
	json_t *json = kf_verdict_to_json(&a->contestant[i].verdict);

	json_object_set_new(json, "place", json_integer(a->place[i]));
	json_object_set_new(json, "of", json_integer((json_int_t)a->count));
	json_object_set_new(json, "fresh_data",
			    json_boolean(!a->lane->run->setup.away));
	json_object_set(json, "duel", a->duel ? a->duel : json_null());
	return json;
}

static enum kf_code keep(struct again *a, struct kf_err *err)
{
	struct kf_store_second row[KF_REJUDGE_MAX];
	json_t *json[KF_REJUDGE_MAX];
	enum kf_code code;

	for (size_t i = 0; i < a->count; i++) {
		const struct kf_verdict *v = &a->contestant[i].verdict;

		json[i] = verdict_to_json(a, i);
		row[i] = (struct kf_store_second) {
			.attempt_id = a->attempt[i]->id,
			.state = kf_state_name(v->state), .reason = v->reason,
			.place = a->place[i], .time_ns = v->time_ns,
			.baseline_ns = v->baseline_ns,
			.speedup = v->speedup.ratio, .verdict = json[i],
		};
	}
	code = kf_store_seconds(a->lane->run->store, row, a->count, err);
	for (size_t i = 0; i < a->count; i++) {
		if (code)
			json_decref(json[i]);
		else
			kf_attempt_second_take(a->attempt[i], json[i]);
	}
	return code;
}

static void tell_one(const struct again *a, size_t i)
{
	const struct kf_attempt *attempt = a->attempt[i];
	char *line;

	if (attempt->second.state == KF_CORRECT)
		return;
	line = kf_format("judged again, it is not correct (%s: %s) and loses "
			 "its place", kf_state_name(attempt->second.state),
			 attempt->second.reason);
	kf_lane_notice(a->lane, attempt, line);
	free(line);
}

static void tell(const struct again *a)
{
	const struct kf_attempt *best = kf_attempts_best(&a->lane->attempts);
	char time[32] = "", ratio[32] = "";
	char *line;

	for (size_t i = 0; i < a->count; i++)
		tell_one(a, i);
	if (!best)
		return;
	if (best->second.time_ns > 0)
		kf_time_words(best->second.time_ns, 3, time);
	if (best->second.speedup.ratio > 0)
		snprintf(ratio, sizeof(ratio), ", %.2fx%s",
			 best->second.speedup.ratio,
			 best->second.conclusive ? "" : " ~");
	line = kf_format("judged again, %s: the best of %zu%s%s%s",
			 a->duel ? "timed in turn" :
			 a->count > 1 ? "one by one" : "alone", a->count,
			 time[0] ? ", " : "", time, ratio);
	kf_lane_notice(a->lane, best, line);
	free(line);
}

/* --- one round of it ------------------------------------------------------ */

static enum kf_code rejudge(struct again *a, const json_t *row,
			    struct kf_err *err)
{
	struct kf_lane *lane = a->lane;
	enum kf_code code = take_seed(a, err);

	if (!code)
		code = kf_remove_tree(a->folder, err);
	if (!code && !lane->run->setup.away)
		code = draw_data(a, row, err);
	if (!code)
		code = judge_each(a, err);
	if (!code && is_in_turn(a))
		code = time_in_turn(a, err);
	if (code)
		return code;
	rank(a);
	code = keep(a, err);
	if (code)
		return code;
	tell(a);
	return kf_publish_from_store(lane->run->store, lane->problem_id,
				     &lane->target.problem, &lane->attempts,
				     &lane->best_path, err);
}

/* Whether the best is known, by programs that were judged again. */
static bool is_settled(const struct kf_lane *lane)
{
	const struct kf_attempt *best = kf_attempts_best(&lane->attempts);

	return best && best->second.state;
}

enum kf_code kf_lane_rejudge(struct kf_lane *lane, const json_t *row,
			     struct kf_err *err)
{
	enum kf_code code = KF_OK;
	bool more = true;

	while (!code && more && !is_settled(lane)) {
		struct again a = {
			.lane = lane,
			.folder = kf_format("%s/%s-again", lane->run->work_dir,
					    lane->target.problem.name),
		};

		choose(&a);
		more = a.count > 0;
		if (more)
			code = rejudge(&a, row, err);
		again_release(&a);
	}
	return code;
}
