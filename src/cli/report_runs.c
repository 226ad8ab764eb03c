/* kforge report: what runs have come to, as tables in Markdown or as JSON. */
#include "cli/cli.h"

#include <math.h>

#include "cli/advice.h"
#include "cli/outcome.h"
#include "cli/report_facts.h"
#include "store/advice.h"

/* One run, or several as one. */
struct tables {
	char *run_dir;				/* owned */
	json_t *settings, *problems;		/* owned; settings: the first's */
	json_t *models;				/* owned; "MODEL on PLATFORM" */
	json_t *advice;				/* owned; of all problems */
	struct kf_figure_problem *figure;	/* owned; one for each problem */
	struct kf_attempts *attempts;		/* owned; likewise */
	struct kf_report_facts *facts;		/* owned; likewise */
	size_t count, attempt_max;
	uint64_t tokens;
};

static void release(struct tables *t)
{
	for (size_t i = 0; i < t->count; i++)
		kf_attempts_release(&t->attempts[i]);
	kf_figures_release(t->figure, t->count);
	free(t->attempts);
	free(t->facts);
	free(t->run_dir);
	json_decref(t->problems);
	json_decref(t->settings);
	json_decref(t->models);
	json_decref(t->advice);
	*t = (struct tables) { 0 };
}

/* The attempt that is figure number at: --start's has none. */
static const struct kf_attempt *attempt_of(const struct kf_attempts *attempts,
					   size_t at)
{
	for (size_t k = 0; k < attempts->count; k++)
		if (attempts->attempt[k].number && at-- == 0)
			return &attempts->attempt[k];
	return NULL;
}

/* What a second judgement says is best; else the best figure. NULL: none. */
static const struct kf_figure_attempt *best_of(const struct tables *t,
					       size_t i)
{
	const struct kf_figure_problem *f = &t->figure[i];
	const struct kf_attempt *best = kf_attempts_best(&t->attempts[i]);

	for (size_t k = 0; best && best->second.state &&
	     k < f->attempt_count; k++)
		if (attempt_of(&t->attempts[i], k) == best)
			return &f->attempt[k];
	return kf_figure_best(f, f->attempt_count);
}

static const struct kf_attempt *attempt_at(const struct tables *t, size_t i,
					   const struct kf_figure_attempt *at)
{
	return attempt_of(&t->attempts[i],
			  (size_t)(at - t->figure[i].attempt));
}

static void take_attempts(struct tables *t, size_t i)
{
	const struct kf_attempts *attempts = &t->attempts[i];
	struct kf_figure_problem *f = &t->figure[i];
	const struct kf_figure_attempt *best;

	kf_cli_figures(attempts, false, f);
	for (size_t k = 0; k < attempts->count; k++)
		t->tokens += attempts->attempt[k].tokens;
	if (f->attempt_count > t->attempt_max)
		t->attempt_max = f->attempt_count;
	best = best_of(t, i);
	/* On several shapes it has several times. */
	if (best && isnan(attempt_at(t, i, best)->worst_speedup))
		kf_report_facts_time(&t->facts[i], kf_attempt_times(
				     attempt_at(t, i, best)).time_ns);
}

static bool is_in(const json_t *list, const json_t *value)
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
		if (json_equal(one, value))
			return true;
	return false;
}

static void name_model(struct tables *t)
{
	char *name = kf_format("%s on %s",
			       kf_json_str(t->settings, "model", "?"),
			       kf_json_str(t->settings, "platform", "?"));

	t->models = json_array();
	json_array_append_new(t->models, json_string(name));
	free(name);
}

static enum kf_code read_run(const char *asked, struct tables *t,
			     struct kf_err *err)
{
	struct kf_store *store = NULL;
	enum kf_code code;
	const json_t *row;
	unsigned replies;
	size_t i, count;

	code = kf_cli_run_dir(asked, &t->run_dir, err);
	if (!code)
		code = kf_store_open(t->run_dir, KF_STORE_READ, &store, err);
	if (!code)
		code = kf_store_settings(store, &t->settings, err);
	if (!code)
		code = kf_store_problems(store, &t->problems, err);
	if (!code)
		code = kf_store_advices(store, 0, &t->advice, err);
	if (!code)
		code = kf_store_advice_used(store, 0, &t->tokens, &replies,
					    err);
	name_model(t);
	count = code ? 0 : json_array_size(t->problems);
	t->figure = kf_alloc((count + 1) * sizeof(t->figure[0]));
	t->attempts = kf_alloc((count + 1) * sizeof(t->attempts[0]));
	t->facts = kf_alloc((count + 1) * sizeof(t->facts[0]));
	json_array_foreach(t->problems, i, row) {
		if (code)
			break;
		t->count = i + 1;
		code = kf_attempts_load_verdicts(store,
			kf_json_int(row, "id", 0), &t->attempts[i], err);
		if (!code)
			code = kf_report_facts_read(store,
				kf_json_int(row, "id", 0), &t->facts[i], err);
		if (!code)
			take_attempts(t, i);
	}
	kf_store_close(store);
	return code;
}

/* --- Markdown ------------------------------------------------------------- */

static void put_ratio(double ratio, struct kf_buf *out)
{
	if (isnan(ratio))
		kf_buf_puts(out, " |");
	else
		kf_buf_printf(out, " %.2fx |", ratio);
}

static void put_share(double share, struct kf_buf *out)
{
	if (isnan(share))
		kf_buf_puts(out, " |");
	else
		kf_buf_printf(out, " %.2f |", share);
}

static void put_problem(const struct tables *t, size_t i, struct kf_buf *out)
{
	const struct kf_figure_problem *f = &t->figure[i];
	const struct kf_figure_attempt *best;
	const struct kf_attempt *a;
	const json_t *row = json_array_get(t->problems, i);
	const json_t *healthy = json_object_get(json_object_get(row, "health"),
						"healthy");
	char time[32], baseline[32], about[160];
	struct kf_times times;

	kf_buf_printf(out, "| `%s`%s |", kf_json_str(row, "name", "?"),
		      json_is_false(healthy) ? " (unhealthy)" : "");
	for (size_t k = 0; k < f->attempt_count; k++)
		kf_buf_printf(out, " %c", f->attempt[k].mark);
	best = best_of(t, i);
	if (!best) {
		kf_buf_puts(out, " | - | | | | | |\n");
		return;
	}
	a = attempt_at(t, i, best);
	times = kf_attempt_times(a);
	kf_cli_time(times.time_ns, time);
	kf_cli_time(times.baseline_ns, baseline);
	kf_baseline_words(a->baseline_about, about);
	kf_buf_printf(out, " | %u | %s | %s %s%s%s%s |", a->number, time,
		      a->baseline, baseline, about[0] ? " (" : "", about,
		      about[0] ? ")" : "");
	for (int g = 0; g < KF_AGAINST_COUNT; g++)
		put_ratio(best->ratio[g], out);
	if (times.low > 0)
		kf_buf_printf(out, " %.2f to %.2f%s", times.low, times.high,
			      times.conclusive ? "" : " ~");
	kf_buf_puts(out, " |\n");
}

static void put_second(const char *problem, const struct kf_attempt *a,
		       struct kf_buf *out)
{
	const struct kf_second *s = &a->second;
	char time[32];

	kf_buf_printf(out, "| `%s` | %u |", problem, a->number);
	if (s->place)
		kf_buf_printf(out, " %u of %u |", s->place, s->of);
	else
		kf_buf_printf(out, " lost: %s, %s |", kf_state_name(s->state),
			      s->reason);
	put_ratio(a->speedup, out);
	kf_cli_time(s->time_ns, time);
	kf_buf_printf(out, " %s |", time);
	put_ratio(s->speedup.ratio, out);
	if (s->speedup.low > 0)
		kf_buf_printf(out, " %.2f to %.2f%s", s->speedup.low,
			      s->speedup.high, s->conclusive ? "" : " ~");
	kf_buf_puts(out, " |\n");
}

#define SECOND_HEAD \
	"\nJudged again at the end (docs/judging.md):\n\n" \
	"| problem | attempt | place | at first | time | again | 95 % interval " \
	"|\n|---|---|---|---|---|---|---|\n"

/* Nothing where no problem's best was judged again. */
static void put_second_all(const struct tables *t, struct kf_buf *out)
{
	bool begun = false;

	for (size_t i = 0; i < t->count; i++)
		for (size_t k = 0; k < t->attempts[i].count; k++) {
			const struct kf_attempt *a =
				&t->attempts[i].attempt[k];
			const json_t *row = json_array_get(t->problems, i);

			if (!a->second.state)
				continue;
			if (!begun)
				kf_buf_puts(out, SECOND_HEAD);
			begun = true;
			put_second(kf_json_str(row, "name", "?"), a, out);
		}
}

static void put_counts(size_t n, const struct kf_figures *f, struct kf_buf *out)
{
	kf_buf_printf(out, "| %zu | %zu of %zu | %zu of %zu |", n,
		      f->correct_count, f->problem_count,
		      f->kernelbench_count, f->problem_count);
}

/* " (of 7)" where a baseline was not measured everywhere. */
static const char *of_how_many(const struct kf_figures *f, enum kf_against g,
			       char of[32])
{
	of[0] = '\0';
	if (f->against_count[g] < f->problem_count)
		snprintf(of, 32, " (of %zu)", f->against_count[g]);
	return of;
}

static void put_figures(const struct tables *t, struct kf_buf *out)
{
	size_t n[KF_FIGURE_BY], count = kf_figure_by(t->attempt_max, n);
	char of[32];

	kf_buf_puts(out, "\n| by attempt | correct | by the benchmark's rule | "
		    "against | fast_1 | fast_1.5 | fast_2 | geometric mean | "
		    "without the two largest |\n"
		    "|---|---|---|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < count; i++) {
		struct kf_figures f;

		kf_figures_make(t->figure, t->count, n[i], &f);
		if (isnan(f.fast[KF_AGAINST_EAGER][0])) {
			put_counts(n[i], &f, out);
			kf_buf_puts(out, " | | | | | |\n");
		}
		for (enum kf_against g = 0; g < KF_AGAINST_COUNT; g++) {
			/* With one baseline there is no faster one. */
			if (isnan(g == KF_AGAINST_EAGER ? f.fast[g][0] :
				  f.geomean[KF_AGAINST_COMPILE]))
				continue;
			put_counts(n[i], &f, out);
			kf_buf_printf(out, " %s%s |", kf_against_name(g),
				      of_how_many(&f, g, of));
			for (size_t k = 0; k < 3; k++)
				put_share(f.fast[g][k], out);
			put_ratio(f.geomean[g], out);
			put_ratio(f.geomean_less_two[g], out);
			kf_buf_puts(out, "\n");
		}
	}
}

static void put_run(const struct tables *t, struct kf_buf *out)
{
	const json_t *model;
	size_t k;

	kf_buf_printf(out, "## %s\n\n", t->run_dir);
	json_array_foreach(t->models, k, model)
		kf_buf_printf(out, "%s, ", json_string_value(model));
	kf_buf_printf(out, "%zu problem%s, %llu tokens, judged by %s's "
		      "rules\n\n", t->count, t->count == 1 ? "" : "s",
		      (unsigned long long)t->tokens,
		      kf_rules_name((enum kf_rules)kf_json_int(t->settings,
		      "rules", KF_RULES_KFORGE)));
	kf_buf_puts(out, "| problem | attempts | best | program | baseline | "
		    "eager | compile | faster | 95 % interval |\n"
		    "|---|---|---|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < t->count; i++)
		put_problem(t, i, out);
	put_second_all(t, out);
	kf_buf_puts(out, "\nc correct, m mismatch, r runtime error, b does not "
		    "compile, g no program in the reply; ~ not conclusive. "
		    "Speed-ups are against eager PyTorch (or a C problem's "
		    "reference), torch.compile, and the faster of them.\n");
	put_figures(t, out);
	kf_report_put_bound(t->facts, t->count, t->problems, out);
	kf_report_put_tokens(t->facts, t->count, out);
	kf_advice_table(t->advice, out);
}

/* --- JSON ----------------------------------------------------------------- */

/* speedup is the number alone, as it always was. */
static json_t *second_to_json(const struct kf_attempt *a)
{
	const struct kf_second *s = &a->second;

	return json_pack("{s:i, s:s, s:s, s:i, s:i, s:o, s:o, s:o, s:o, s:o, "
			 "s:b}",
		"attempt", (int)a->number, "state", kf_state_name(s->state),
		"reason", s->reason, "place", (int)s->place,
		"of", (int)s->of, "at_first", kf_json_number(a->speedup),
		"time_ns", kf_json_number(s->time_ns),
		"speedup", kf_json_number(s->speedup.ratio),
		"low", kf_json_number(s->speedup.low),
		"high", kf_json_number(s->speedup.high),
		"conclusive", s->conclusive);
}

static json_t *seconds_to_json(const struct kf_attempts *attempts)
{
	json_t *list = json_array();

	for (size_t i = 0; i < attempts->count; i++) {
		const struct kf_attempt *a = &attempts->attempt[i];

		if (!a->second.state)
			continue;
		json_array_append_new(list, second_to_json(a));
	}
	return list;
}

static json_t *problem_to_json(const struct tables *t, size_t i)
{
	const struct kf_figure_problem *f = &t->figure[i];
	const struct kf_figure_attempt *best = best_of(t, i);
	const json_t *row = json_array_get(t->problems, i);
	json_t *list = json_array(), *json;

	for (size_t k = 0; k < f->attempt_count; k++)
		json_array_append_new(list, json_stringn(&f->attempt[k].mark,
							 1));
	json = json_pack("{s:s, s:o, s:o, s:o, s:o}", "problem",
			 kf_json_str(row, "name", "?"), "states", list,
			 "attempts", kf_cli_attempts_to_json(&t->attempts[i]),
			 "best", kf_cli_best_to_json(best ?
			 attempt_at(t, i, best) : NULL),
			 "judged_again", seconds_to_json(&t->attempts[i]));
	json_object_set(json, "health", json_object_get(row, "health"));
	json_object_set_new(json, "memory_bound",
			    kf_report_bound_json(&t->facts[i]));
	json_object_set_new(json, "tokens",
			    kf_report_tokens_json(&t->facts[i], 1));
	for (enum kf_against g = 0; best && g < KF_AGAINST_COUNT; g++)
		json_object_set_new(json, kf_against_name(g),
				    kf_json_number(best->ratio[g]));
	return json;
}

static json_t *run_to_json(const struct tables *t)
{
	size_t n[KF_FIGURE_BY], count = kf_figure_by(t->attempt_max, n);
	json_t *problems = json_array(), *by = json_array();

	for (size_t i = 0; i < t->count; i++)
		json_array_append_new(problems, problem_to_json(t, i));
	for (size_t i = 0; i < count; i++) {
		struct kf_figures f;
		json_t *one;

		kf_figures_make(t->figure, t->count, n[i], &f);
		one = kf_figures_to_json(&f);
		json_object_set_new(one, "attempts",
				    json_integer((json_int_t)n[i]));
		json_array_append_new(by, one);
	}
	return json_pack("{s:s, s:O, s:O, s:I, s:o, s:o, s:O, s:o, s:o}",
			 "run", t->run_dir, "settings", t->settings, "models",
			 t->models, "tokens", (json_int_t)t->tokens,
			 "problems", problems, "by_attempt", by, "advice",
			 t->advice, "memory_share",
			 kf_report_shares_json(t->facts, t->count),
			 "tokens_by_agent",
			 kf_report_tokens_json(t->facts, t->count));
}

/* --- the command ---------------------------------------------------------- */

/* All of b's problems behind a's; b is empty then. */
static void append_take(struct tables *a, struct tables *b)
{
	char *both = kf_format("%s %s", a->run_dir, b->run_dir);

	a->figure = kf_realloc(a->figure, (a->count + b->count + 1) *
			       sizeof(a->figure[0]));
	a->attempts = kf_realloc(a->attempts, (a->count + b->count + 1) *
				 sizeof(a->attempts[0]));
	a->facts = kf_realloc(a->facts, (a->count + b->count + 1) *
			      sizeof(a->facts[0]));
	memcpy(a->facts + a->count, b->facts, b->count * sizeof(a->facts[0]));
	memcpy(a->figure + a->count, b->figure,
	       b->count * sizeof(a->figure[0]));
	memcpy(a->attempts + a->count, b->attempts,
	       b->count * sizeof(a->attempts[0]));
	json_array_extend(a->problems, b->problems);
	json_array_extend(a->advice, b->advice);
	if (!is_in(a->models, json_array_get(b->models, 0)))
		json_array_append(a->models, json_array_get(b->models, 0));
	a->count += b->count;
	a->tokens += b->tokens;
	if (b->attempt_max > a->attempt_max)
		a->attempt_max = b->attempt_max;
	b->count = 0;
	release(b);
	free(a->run_dir);
	a->run_dir = both;
}

static void tell_take(const struct kf_options *options, struct tables *t,
		      json_t *list, struct kf_buf *text)
{
	if (options->json) {
		json_array_append_new(list, run_to_json(t));
	} else {
		if (text->len)
			kf_buf_puts(text, "\n");
		put_run(t, text);
	}
	release(t);
}

static int run(const struct kf_options *options, const char **argument,
	       size_t argument_count)
{
	size_t count = argument_count ? argument_count : 1;
	struct kf_buf text = { .max = 16u << 20 };
	struct tables all = { 0 };
	json_t *list = json_array();
	struct kf_err err = { 0 };
	enum kf_code code = KF_OK;

	for (size_t i = 0; !code && i < count; i++) {
		struct tables t = { 0 };

		code = read_run(argument_count ? argument[i] : NULL, &t, &err);
		if (code)
			release(&t);
		else if (!options->merge)
			tell_take(options, &t, list, &text);
		else if (i)
			append_take(&all, &t);
		else
			all = t;
	}
	if (!code && options->merge)
		tell_take(options, &all, list, &text);
	if (!code && options->json)
		kf_cli_print_json_take(json_pack("{s:O}", "runs", list));
	else if (!code)
		fputs(kf_buf_str(&text), stdout);
	release(&all);
	json_decref(list);
	kf_buf_release(&text);
	return code ? kf_cli_fail(&err) : KF_EXIT_GOOD;
}

const struct kf_command kf_command_report = {
	.name = "report",
	.arguments = "[RUN...]",
	.summary = "what runs came to: states, correct by attempt, fast_p, means (Markdown)",
	.options = "merge json help",
	.argument_max = 64,
	.run = run,
};
