#include "cli/cli.h"

#include <math.h>

/* What a table's row needs, gathered from the attempts of one problem. */
struct line {
	const char *name;
	const char *state;		/* of the best, else of the last attempt */
	unsigned best_number, attempt_count, first_correct;
	bool correct, conclusive;
	double time_ns, baseline_ns, speedup;
};

static struct line summarize(const char *name,
			     const struct kf_attempts *attempts)
{
	size_t count = kf_attempts_judged(attempts);
	struct kf_policy_attempt *p = kf_attempts_for_policy(attempts, count);
	size_t best = kf_policy_best(p, count);
	struct line line = {
		.name = name,
		.state = "not judged",
		.attempt_count = (unsigned)count,
		.time_ns = (double)NAN,
		.baseline_ns = (double)NAN,
		.speedup = (double)NAN,
	};

	if (count)
		line.state = kf_state_name(attempts->attempt[count - 1].state);
	for (size_t i = 0; i < count && !line.first_correct; i++)
		if (p[i].state == KF_CORRECT)
			line.first_correct = attempts->attempt[i].number;
	if (best != KF_POLICY_NO_ATTEMPT) {
		const struct kf_attempt *a = &attempts->attempt[best];

		line.correct = true;
		line.state = kf_state_name(a->state);
		line.best_number = a->number;
		line.time_ns = a->time_ns;
		line.baseline_ns = a->baseline_ns;
		line.speedup = a->speedup;
		line.conclusive = a->conclusive;
	}
	free(p);
	return line;
}

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
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
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *line_to_json(const struct line *line, const char *run_dir,
			    const struct kf_attempts *attempts)
{
	json_t *o = json_object();

	set(o, "problem", json_string(line->name));
	set(o, "state", json_string(line->state));
	set(o, "correct", json_boolean(line->correct));
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
	printf("%-20s %-20s %-18s %10s %10s %9s\n", line->name, line->state,
	       best, time, baseline, ratio);
}

static enum kf_code report_problem(struct kf_store *store, const json_t *row,
				   const char *run_dir, json_t *list,
				   struct kf_err *err)
{
	struct kf_attempts attempts = { 0 };
	enum kf_code code;
	struct line line;

	code = kf_attempts_load_verdicts(store, kf_json_int(row, "id", 0),
					 &attempts, err);
	if (code)
		goto out;
	line = summarize(kf_json_str(row, "name", "?"), &attempts);
	if (list)
		json_array_append_new(list, line_to_json(&line, run_dir,
							 &attempts));
	else
		print_line(&line);
out:
	kf_attempts_release(&attempts);
	return code;
}

enum kf_code kf_cli_report(const char *run_dir, bool json, struct kf_err *err)
{
	json_t *problems = NULL, *row, *list = NULL;
	struct kf_store *store = NULL;
	enum kf_code code;
	size_t i;

	code = kf_store_open(run_dir, KF_STORE_READ, &store, err);
	if (!code)
		code = kf_store_problems(store, &problems, err);
	if (code)
		goto out;
	if (json)
		list = json_array();
	else
		printf("%-20s %-20s %-18s %10s %10s %9s\n", "problem",
		       "state", "best", "time", "eager", "speed-up");
	json_array_foreach(problems, i, row) {
		if (!code)
			code = report_problem(store, row, run_dir, list, err);
	}
	if (!json && !code)
		puts("~: not conclusive; `kforge show RUN ATTEMPT` tells why");
	if (json && !code)
		kf_cli_print_json_take(json_pack("{s:s, s:O}", "run", run_dir,
						 "problems", list));
out:
	json_decref(list);
	json_decref(problems);
	kf_store_close(store);
	return code;
}
