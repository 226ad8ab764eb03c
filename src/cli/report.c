#include "cli/cli.h"

#include <math.h>

#include "cli/score.h"

/* What a table's row needs, gathered from the attempts of one problem. */
struct line {
	const char *name;
	const char *state;		/* of the best, else of the last attempt */
	unsigned best_number, attempt_count, first_correct;
	bool correct, conclusive, judged_again;
	bool health_known, healthy;
	const char *unhealthy;		/* token of the reason, "" if healthy */
	double time_ns, baseline_ns, speedup;
	double worst_speedup;		/* of several shapes; NaN: there is one */
	const char *worst_shape;
};

/* The report under way. */
struct report {
	struct kf_store *store;
	const char *run_dir;
	json_t *list;			/* owned; NULL: a table for people */
	struct kf_score all, healthy;
	size_t health_unknown;
	bool marked;		/* a speed-up has been printed with a "~" */
};

static void take_best(struct line *line, const struct kf_attempt *best)
{
	struct kf_times times = kf_attempt_times(best);

	line->correct = true;
	line->state = kf_state_name(KF_CORRECT);
	line->best_number = best->number;
	line->judged_again = best->second.state != KF_STATE_NONE;
	line->time_ns = times.time_ns;
	line->baseline_ns = times.baseline_ns;
	line->speedup = times.speedup;
	line->conclusive = times.conclusive;
	line->worst_speedup = best->worst_speedup;
	line->worst_shape = best->worst_shape;
}

static struct line summarize(const char *name,
			     const struct kf_attempts *attempts)
{
	size_t count = kf_attempts_judged(attempts);
	const struct kf_attempt *best = kf_attempts_best(attempts);
	/* What --start gave is attempt 0, and was not asked for. */
	bool started = count && !attempts->attempt[0].number;
	struct line line = {
		.name = name,
		.state = "not judged",
		.attempt_count = (unsigned)(count - started),
		.time_ns = (double)NAN,
		.baseline_ns = (double)NAN,
		.speedup = (double)NAN,
		.worst_speedup = (double)NAN,
	};

	if (count)
		line.state = kf_state_name(kf_attempt_state(
				&attempts->attempt[count - 1]));
	for (size_t i = 0; i < count && !line.first_correct; i++)
		if (kf_attempt_state(&attempts->attempt[i]) == KF_CORRECT)
			line.first_correct = attempts->attempt[i].number;
	if (best)
		take_best(&line, best);
	return line;
}

static void add_health(struct line *line, const json_t *health)
{
	const json_t *healthy = json_object_get(health, "healthy");

	line->health_known = json_is_boolean(healthy);
	line->healthy = json_is_true(healthy);
	line->unhealthy = kf_json_str(health, "reason", "");
	if (kf_json_bool(health, "skipped", false) && !line->attempt_count)
		line->state = "skipped";
}

static void count_in(struct report *r, const struct line *line)
{
	kf_score_add(&r->all, line->correct, line->speedup);
	r->health_unknown += !line->health_known;
	r->marked |= isfinite(line->speedup) && !line->conclusive;
	if (line->healthy)
		kf_score_add(&r->healthy, line->correct, line->speedup);
}

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static json_t *second_to_json(const struct kf_second *second)
{
	json_t *o = json_object();

	set(o, "state", json_string(kf_state_name(second->state)));
	set(o, "reason", json_string(second->reason));
	set(o, "place", json_integer(second->place));
	set(o, "of", json_integer(second->of));
	set(o, "time_ns", kf_json_number(second->time_ns));
	set(o, "baseline_ns", kf_json_number(second->baseline_ns));
	set(o, "speedup", kf_json_number(second->speedup.ratio));
	set(o, "speedup_low", kf_json_number(second->speedup.low));
	set(o, "speedup_high", kf_json_number(second->speedup.high));
	set(o, "conclusive", json_boolean(second->conclusive));
	return o;
}

static json_t *attempts_to_json(const struct kf_attempts *attempts)
{
	json_t *list = json_array();

	for (size_t i = 0; i < attempts->count; i++) {
		const struct kf_attempt *a = &attempts->attempt[i];
		json_t *o = json_object();

		set(o, "number", json_integer(a->number));
		set(o, "kind", json_string(a->kind));
		set(o, "state", json_string(kf_state_name(a->state)));
		set(o, "reason", json_string(a->reason));
		set(o, "time_ns", kf_json_number(a->time_ns));
		set(o, "baseline_ns", kf_json_number(a->baseline_ns));
		set(o, "speedup", kf_json_number(a->speedup));
		set(o, "speedup_low", kf_json_number(a->speedup_low));
		set(o, "speedup_high", kf_json_number(a->speedup_high));
		set(o, "conclusive", json_boolean(a->conclusive));
		set(o, "tokens", json_integer((json_int_t)a->tokens));
		if (a->second.state)
			set(o, "judged_again", second_to_json(&a->second));
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *line_to_json(const struct line *line, const json_t *health,
			    const char *run_dir,
			    const struct kf_attempts *attempts)
{
	json_t *o = json_object();

	set(o, "problem", json_string(line->name));
	set(o, "state", json_string(line->state));
	set(o, "correct", json_boolean(line->correct));
	set(o, "healthy", line->health_known ? json_boolean(line->healthy) :
	    json_null());
	set(o, "health", json_is_object(health) ? json_deep_copy(health) :
	    json_null());
	if (line->correct) {
		char *path = kf_format("%s/best/%s", run_dir, line->name);

		set(o, "best_attempt", json_integer(line->best_number));
		set(o, "first_correct", json_integer(line->first_correct));
		set(o, "best_path", json_string(path));
		free(path);
	}
	set(o, "time_ns", kf_json_number(line->time_ns));
	set(o, "baseline_ns", kf_json_number(line->baseline_ns));
	set(o, "speedup", kf_json_number(line->speedup));
	set(o, "conclusive", json_boolean(line->conclusive));
	set(o, "judged_again", json_boolean(line->judged_again));
	if (!isnan(line->worst_speedup))
		set(o, "worst_shape", json_pack("{s:s, s:f}", "name",
						line->worst_shape, "speedup",
						line->worst_speedup));
	set(o, "attempts", attempts_to_json(attempts));
	return o;
}

static void print_line(const struct line *line)
{
	char time[32], baseline[32], ratio[32], best[32];

	kf_cli_time(line->time_ns, time);
	kf_cli_time(line->baseline_ns, baseline);
	kf_cli_ratio(line->speedup, line->conclusive, ratio);
	if (line->correct)
		snprintf(best, sizeof(best), "attempt %u of %u",
			 line->best_number, line->attempt_count);
	else
		snprintf(best, sizeof(best), "none of %u",
			 line->attempt_count);
	printf("%-20s %-20s %-18s %10s %10s %9s", line->name, line->state,
	       best, time, baseline, ratio);
	if (!isnan(line->worst_speedup))
		printf("  worst %.2fx (%s)", line->worst_speedup,
		       line->worst_shape);
	if (line->unhealthy[0])
		printf("  unhealthy: %s", line->unhealthy);
	putchar('\n');
}

static enum kf_code report_problem(struct report *r, const json_t *row,
				   struct kf_err *err)
{
	const json_t *health = json_object_get(row, "health");
	struct kf_attempts attempts = { 0 };
	enum kf_code code;
	struct line line;

	code = kf_attempts_load_verdicts(r->store, kf_json_int(row, "id", 0),
					 &attempts, err);
	if (code)
		goto out;
	line = summarize(kf_json_str(row, "name", "?"), &attempts);
	add_health(&line, health);
	count_in(r, &line);
	if (r->list)
		json_array_append_new(r->list,
			line_to_json(&line, health, r->run_dir, &attempts));
	else
		print_line(&line);
out:
	kf_attempts_release(&attempts);
	return code;
}

/* Scores mean something over several problems. */
static void print_scores(const struct report *r)
{
	struct kf_buf text = { .max = 1024 };

	if (r->all.problem_count < 2)
		return;
	kf_score_say(&r->all, "all as published", &text);
	if (r->health_unknown < r->all.problem_count)
		kf_score_say(&r->healthy, "healthy", &text);
	if (r->health_unknown)
		kf_buf_printf(&text, "of %zu it is not known yet whether they "
			      "are healthy\n", r->health_unknown);
	fputs(kf_buf_str(&text), stdout);
	kf_buf_release(&text);
}

static void print_json(struct report *r)
{
	kf_cli_print_json_take(json_pack("{s:s, s:O, s:{s:o, s:o}}",
		"run", r->run_dir, "problems", r->list, "scores",
		"all", kf_score_to_json(&r->all),
		"healthy", kf_score_to_json(&r->healthy)));
}

enum kf_code kf_cli_report(const char *run_dir, bool json, struct kf_err *err)
{
	struct report r = { .run_dir = run_dir };
	json_t *problems = NULL, *row;
	enum kf_code code;
	size_t i;

	code = kf_store_open(run_dir, KF_STORE_READ, &r.store, err);
	if (!code)
		code = kf_store_problems(r.store, &problems, err);
	if (code)
		goto out;
	if (json)
		r.list = json_array();
	else
		printf("%-20s %-20s %-18s %10s %10s %9s\n", "problem",
		       "state", "best", "time", "baseline", "speed-up");
	json_array_foreach(problems, i, row) {
		if (!code)
			code = report_problem(&r, row, err);
	}
	if (code)
		goto out;
	if (json) {
		print_json(&r);
	} else {
		if (r.marked)
			puts("~: not conclusive; `kforge show RUN ATTEMPT` "
			     "tells why");
		print_scores(&r);
	}
out:
	json_decref(r.list);
	json_decref(problems);
	kf_store_close(r.store);
	return code;
}
