/* kforge status: what a run is doing, or where it stopped. */
#include "cli/cli.h"

#include <dirent.h>
#include <math.h>
#include <time.h>

#include "profile/profile.h"
#include "store/advice.h"

#define RUNS_DIR "kforge-runs"

/* One problem of the run. */
struct lane {
	char *name;		/* owned */
	const char *step;	/* what is being done, or was when it stopped */
	unsigned number;	/* of the attempt that the step belongs to; 0 */
	unsigned done;		/* attempts that were asked for and judged */
	const char *state;	/* of the last judged attempt; "" */
	unsigned best_number;
	bool has_best, conclusive;
	double time_ns, speedup;	/* of the best; NaN */
	unsigned again, lost;	/* judged again; of them: no longer correct */
	uint64_t tokens;
	char last_step[32];	/* when; "" */
	bool ended;
};

struct status {
	char *run_dir;		/* owned */
	json_t *settings;	/* owned */
	struct lane *lane;	/* owned */
	size_t lane_count;
	uint64_t holder;	/* as kf_store_holder has it */
	bool ended;		/* every problem */
};

static void status_release(struct status *status)
{
	for (size_t i = 0; i < status->lane_count; i++)
		free(status->lane[i].name);
	free(status->lane);
	free(status->run_dir);
	json_decref(status->settings);
	*status = (struct status) { 0 };
}

static uint64_t setting(const struct status *status, const char *key)
{
	return (uint64_t)kf_json_int(status->settings, key, 0);
}

static uint64_t tokens_of(const struct status *status)
{
	uint64_t tokens = 0;

	for (size_t i = 0; i < status->lane_count; i++)
		tokens += status->lane[i].tokens;
	return tokens;
}

/* --- reading -------------------------------------------------------------- */

/* As the run saw it when it stopped for that, and kept it. */
static bool near_bound(const struct status *status, struct kf_store *store,
		       const struct kf_attempt *best)
{
	const char *profile = kf_json_str(status->settings, "profile", "none");
	struct kf_roofline roofline = { 0 };
	json_t *kept = NULL;
	char why[256];
	bool near;

	if (strcmp(profile, "none") == 0)
		return false;
	near = !kf_store_profile_of(store, best->id, &kept, NULL) && kept &&
		!kf_roofline_from_json(json_object_get(kept, "roofline"),
				       &roofline, NULL) &&
		kf_roofline_reached(&roofline, why);
	kf_roofline_release(&roofline);
	json_decref(kept);
	return near;
}

static bool policy_stops(const struct status *status, struct kf_store *store,
			 const struct kf_attempts *attempts, size_t judged)
{
	struct kf_policy_attempt *p = kf_attempts_for_policy(attempts, judged);
	size_t best = kf_policy_best(p, judged);
	struct kf_policy_rules rules = {
		.attempt_max = (unsigned)setting(status, "attempts"),
		.start_count = json_array_size(json_object_get(
			status->settings, "start")) ? 1 : 0,
		.target_speedup = kf_json_real(status->settings, "target",
					       (double)NAN),
		.near_bound = best != KF_POLICY_NO_ATTEMPT &&
			near_bound(status, store, &attempts->attempt[best]),
	};
	bool stops = kf_policy_stops(kf_policy_decide(&rules, p,
						      judged).kind);

	free(p);
	return stops;
}

static void read_best(const struct kf_attempts *attempts, size_t judged,
		      struct lane *lane)
{
	const struct kf_attempt *best = kf_attempts_best(attempts);
	struct kf_times times;

	for (size_t i = 0; i < judged; i++) {
		enum kf_state again = attempts->attempt[i].second.state;

		lane->again += again != KF_STATE_NONE;
		lane->lost += again && again != KF_CORRECT;
	}
	lane->time_ns = lane->speedup = (double)NAN;
	if (!best)
		return;
	times = kf_attempt_times(best);
	lane->has_best = true;
	lane->best_number = best->number;
	lane->time_ns = times.time_ns;
	lane->speedup = times.speedup;
	lane->conclusive = times.conclusive;
}

/* Judged once, where it is to be done twice. */
static bool to_be_judged_again(const struct status *status,
			       const struct kf_attempts *attempts)
{
	const struct kf_attempt *best = kf_attempts_best(attempts);

	return setting(status, "rejudge") && best && !best->second.state;
}

static void read_step(const struct status *status, struct kf_store *store,
		      const json_t *row, const struct kf_attempts *attempts,
		      size_t judged, struct lane *lane)
{
	static const char *const step[] = {
		[0] = "begun",
		[KF_STAGE_ASKED] = "asking",
		[KF_STAGE_REPLIED] = "replied",
		[KF_STAGE_EXTRACTED] = "judging",
		[KF_STAGE_JUDGED] = "judged",
	};
	const json_t *health = json_object_get(row, "health");

	lane->step = "not begun";
	if (kf_json_bool(health, "skipped", false)) {
		lane->step = "passed over";
		lane->ended = true;
	} else if (attempts->count) {
		const struct kf_attempt *last =
			&attempts->attempt[attempts->count - 1];

		lane->step = step[last->stage];
		lane->number = last->number;
		lane->ended = judged == attempts->count &&
			      policy_stops(status, store, attempts, judged);
		if (lane->ended && to_be_judged_again(status, attempts)) {
			lane->ended = false;
			lane->step = "judging again";
			lane->number = 0;
		}
	}
	if (lane->ended && attempts->count)
		lane->step = "done";
}

static void later(char latest[32], const char *time)
{
	if (strcmp(time, latest) > 0)
		snprintf(latest, 32, "%s", time);
}

static enum kf_code read_rows(struct kf_store *store, int64_t problem_id,
			      struct lane *lane, struct kf_err *err)
{
	struct kf_attempt_row *row = NULL;
	uint64_t advised = 0;
	unsigned replies;
	size_t count = 0;
	enum kf_code code = kf_store_attempts(store, problem_id, &row, &count,
					      err);

	for (size_t i = 0; i < count; i++) {
		lane->tokens += row[i].tokens_in + row[i].tokens_out;
		later(lane->last_step, row[i].asked_at);
		later(lane->last_step, row[i].replied_at);
		later(lane->last_step, row[i].judged_at);
	}
	kf_attempt_rows_free(row, count);
	if (!code)
		code = kf_store_advice_used(store, problem_id, &advised,
					    &replies, err);
	lane->tokens += advised;
	return code;
}

static enum kf_code read_lane(struct kf_store *store,
			      const struct status *status, const json_t *row,
			      struct lane *lane, struct kf_err *err)
{
	int64_t id = kf_json_int(row, "id", 0);
	struct kf_attempts attempts = { 0 };
	enum kf_code code = read_rows(store, id, lane, err);
	size_t judged;

	lane->name = kf_strdup(kf_json_str(row, "name", "?"));
	lane->state = lane->step = "";
	if (!code)
		code = kf_attempts_load_verdicts(store, id, &attempts, err);
	if (code)
		return code;
	judged = kf_attempts_judged(&attempts);
	for (size_t i = 0; i < judged; i++)
		lane->done += attempts.attempt[i].number > 0;
	if (judged)
		lane->state = kf_state_name(attempts.attempt[judged - 1].state);
	read_best(&attempts, judged, lane);
	read_step(status, store, row, &attempts, judged, lane);
	kf_attempts_release(&attempts);
	return KF_OK;
}

static enum kf_code read_status(const char *run_dir, struct status *out,
				struct kf_err *err)
{
	struct kf_store *store = NULL;
	json_t *problems = NULL, *row;
	enum kf_code code;
	size_t i;

	*out = (struct status) { .run_dir = kf_strdup(run_dir) };
	code = kf_store_open(run_dir, KF_STORE_READ, &store, err);
	if (!code)
		code = kf_store_settings(store, &out->settings, err);
	if (!code)
		code = kf_store_problems(store, &problems, err);
	if (code)
		goto out;
	out->lane = kf_alloc(json_array_size(problems) * sizeof(*out->lane));
	out->ended = json_array_size(problems) > 0;
	json_array_foreach(problems, i, row) {
		if (code)
			break;
		out->lane_count++;
		code = read_lane(store, out, row, &out->lane[i], err);
		out->ended = out->ended && out->lane[i].ended;
	}
	if (setting(out, "budget_tokens") &&
	    tokens_of(out) >= setting(out, "budget_tokens"))
		out->ended = true;
	out->holder = kf_store_holder(run_dir);
out:
	json_decref(problems);
	kf_store_close(store);
	return code;
}

/* --- telling -------------------------------------------------------------- */

static const char *state_of(const struct status *status)
{
	if (status->holder)
		return "running";
	return status->ended ? "complete" : "stopped";
}

/* Since the last step of any problem; NaN before the first. */
static double seconds_since(const struct status *status)
{
	char latest[32] = "";
	struct tm utc = { 0 };

	for (size_t i = 0; i < status->lane_count; i++)
		later(latest, status->lane[i].last_step);
	if (!strptime(latest, "%Y-%m-%dT%H:%M:%SZ", &utc))
		return (double)NAN;
	return fmax(0, difftime(time(NULL), timegm(&utc)));
}

static void say_ago(double seconds, char out[32])
{
	static const struct { double s; const char *name; } unit[] = {
		{ 86400, "d" }, { 3600, "h" }, { 60, "min" }, { 1, "s" },
	};
	size_t i = 0;

	if (!isfinite(seconds)) {
		snprintf(out, 32, "-");
		return;
	}
	while (i + 1 < KF_COUNT(unit) && seconds < 2 * unit[i].s)
		i++;
	snprintf(out, 32, "%.0f %s ago", floor(seconds / unit[i].s),
		 unit[i].name);
}

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static json_t *lane_to_json(const struct status *status,
			    const struct lane *lane)
{
	json_t *o = json_object();

	set(o, "problem", json_string(lane->name));
	set(o, "step", json_string(lane->step));
	set(o, "attempt", json_integer(lane->number));
	set(o, "done", json_integer(lane->done));
	set(o, "of", json_integer((json_int_t)setting(status, "attempts")));
	set(o, "state", json_string(lane->state));
	set(o, "best_attempt", lane->has_best ?
	    json_integer(lane->best_number) : json_null());
	set(o, "time_ns", kf_json_number(lane->time_ns));
	set(o, "speedup", kf_json_number(lane->speedup));
	set(o, "conclusive", json_boolean(lane->conclusive));
	set(o, "judged_again", json_integer(lane->again));
	set(o, "lost_again", json_integer(lane->lost));
	set(o, "tokens", json_integer((json_int_t)lane->tokens));
	return o;
}

static json_t *holder_to_json(uint64_t holder)
{
	return holder && holder != UINT64_MAX ?
	       json_integer((json_int_t)holder) : json_null();
}

static char *way_on(const struct status *status)
{
	char *quoted = kf_cli_quote(status->run_dir);
	char *words = status->holder || status->ended ? NULL :
		      kf_format("kforge resume %s", quoted);

	free(quoted);
	return words;
}

static json_t *status_to_json(const struct status *status)
{
	json_t *o = json_object(), *list = json_array();
	char *words = way_on(status);

	for (size_t i = 0; i < status->lane_count; i++)
		json_array_append_new(list, lane_to_json(status,
							 &status->lane[i]));
	set(o, "run", kf_json_string(status->run_dir,
				     strlen(status->run_dir)));
	set(o, "state", json_string(state_of(status)));
	set(o, "process", holder_to_json(status->holder));
	set(o, "model", json_string(kf_json_str(status->settings, "model",
						"")));
	set(o, "tokens", json_integer((json_int_t)tokens_of(status)));
	set(o, "budget_tokens", json_integer((json_int_t)
		setting(status, "budget_tokens")));
	set(o, "seconds_since_step", kf_json_number(seconds_since(status)));
	set(o, "go_on", words ? kf_json_string(words, strlen(words)) :
	    json_null());
	set(o, "problems", list);
	free(words);
	return o;
}

static void print_lane(const struct status *status, const struct lane *lane)
{
	char done[32], step[40], best[32] = "-", time[32], ratio[32];

	snprintf(done, sizeof(done), "%u/%llu", lane->done,
		 (unsigned long long)setting(status, "attempts"));
	snprintf(step, sizeof(step), "%s", lane->step);
	if (lane->number && !lane->ended)
		snprintf(step, sizeof(step), "%s %u", lane->step,
			 lane->number);
	if (lane->has_best)
		snprintf(best, sizeof(best), "attempt %u", lane->best_number);
	kf_cli_time(lane->time_ns, time);
	kf_cli_ratio(lane->speedup, lane->conclusive, ratio);
	printf("%-20s %-8s %-13s %-20s %-11s %10s %9s %9llu", lane->name,
	       done, step, lane->state[0] ? lane->state : "-", best, time,
	       ratio, (unsigned long long)lane->tokens);
	if (lane->again)
		printf("  %u judged again", lane->again);
	if (lane->lost)
		printf(", %u no longer correct", lane->lost);
	putchar('\n');
}

static void print_status(const struct status *status)
{
	char *words = way_on(status);
	char ago[32];

	say_ago(seconds_since(status), ago);
	printf("run        %s\nmodel      %s\n", status->run_dir,
	       kf_json_str(status->settings, "model", "?"));
	printf("state      %s", state_of(status));
	if (status->holder && status->holder != UINT64_MAX)
		printf(", process %llu", (unsigned long long)status->holder);
	if (words)
		printf("; go on with: %s", words);
	printf("\ntokens     %llu", (unsigned long long)tokens_of(status));
	if (setting(status, "budget_tokens"))
		printf(" of %llu", (unsigned long long)
		       setting(status, "budget_tokens"));
	printf("\nlast step  %s\n\n", ago);
	printf("%-20s %-8s %-13s %-20s %-11s %10s %9s %9s\n", "problem",
	       "attempts", "step", "last state", "best", "time", "speed-up",
	       "tokens");
	for (size_t i = 0; i < status->lane_count; i++)
		print_lane(status, &status->lane[i]);
	free(words);
}

/* --- all runs ------------------------------------------------------------- */

static void print_row(const struct status *status)
{
	unsigned long long done = 0;
	size_t correct = 0;
	char ago[32];

	for (size_t i = 0; i < status->lane_count; i++) {
		done += status->lane[i].done;
		correct += status->lane[i].has_best;
	}
	say_ago(seconds_since(status), ago);
	printf("%-44s %-9s %4zu of %-4zu %8llu %10llu  %s\n", status->run_dir,
	       state_of(status), correct, status->lane_count, done,
	       (unsigned long long)tokens_of(status), ago);
}

static int visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* One that cannot be read is told, and does not hide the others. */
static void tell_run(const char *run_dir, json_t *list)
{
	struct status status = { 0 };
	struct kf_err err = { 0 };

	if (read_status(run_dir, &status, &err)) {
		if (list)
			json_array_append_new(list, json_pack(
				"{s:s, s:s, s:s}", "run", run_dir, "state",
				"unreadable", "error", err.text));
		else
			printf("%-44s unreadable: %s\n", run_dir, err.text);
	} else if (list) {
		json_array_append_new(list, status_to_json(&status));
	} else {
		print_row(&status);
	}
	status_release(&status);
}

static int all_runs(bool json)
{
	struct dirent **entry = NULL;
	int count = scandir(RUNS_DIR, &entry, visible, alphasort);
	json_t *list = json ? json_array() : NULL;

	if (!json && count > 0)
		printf("%-44s %-9s %-12s %8s %10s  %s\n", "run", "state",
		       "correct", "attempts", "tokens", "last step");
	else if (!json)
		printf("there is no run in ./" RUNS_DIR "\n");
	for (int i = 0; i < count; i++) {
		char *run_dir = kf_path_join(RUNS_DIR, entry[i]->d_name);

		if (kf_path_is_dir(run_dir))
			tell_run(run_dir, list);
		free(run_dir);
		free(entry[i]);
	}
	free(entry);
	if (json)
		kf_cli_print_json_take(json_pack("{s:o}", "runs", list));
	return KF_EXIT_GOOD;
}

static int run(const struct kf_options *options, const char **argument,
	       size_t argument_count)
{
	struct status status = { 0 };
	struct kf_err err = { 0 };
	char *run_dir = NULL;
	enum kf_code code;

	if (options->all && argument_count) {
		kf_fail(&err, KF_E_INPUT, "--all lists every run: leave out "
			"%s", argument[0]);
		return kf_cli_fail(&err);
	}
	if (options->all)
		return all_runs(options->json);
	code = kf_cli_run_dir(argument_count ? argument[0] : NULL, &run_dir,
			      &err);
	if (!code)
		code = read_status(run_dir, &status, &err);
	if (!code && options->json)
		kf_cli_print_json_take(status_to_json(&status));
	else if (!code)
		print_status(&status);
	status_release(&status);
	free(run_dir);
	return code ? kf_cli_fail(&err) : KF_EXIT_GOOD;
}

const struct kf_command kf_command_status = {
	.name = "status",
	.arguments = "[RUN]",
	.summary = "what a run is doing, or where it stopped (default: the latest)",
	.options = "all json help",
	.argument_max = 1,
	.run = run,
};
