/*
 * The tables of an experiment. The unit is the problem: repeats of one are
 * averaged, and means and intervals are over problems. Of two arms the
 * differences are taken problem by problem, where both have one.
 */
#include "cli/experiment.h"

#include <math.h>

/* Against baselines, and against the program of --start. */
enum { AGAINST_START = KF_AGAINST_COUNT, AGAINST_ALL };

enum kind { CORRECT, FAST, SPEED, COST };

/* What is asked of a result. */
struct question {
	enum kind kind;
	unsigned n;		/* after so many attempts */
	int against;		/* FAST, SPEED */
	double p;		/* FAST: more than p times as fast */
	enum kf_cost cost;	/* COST */
};

/* One arm with one model; or two arms, first minus second. */
struct group { size_t arm, other, model; bool pair; };

/* --- one result ----------------------------------------------------------- */

static const struct kf_figure_attempt *best_of(const struct kf_cell_result *o,
					       unsigned n)
{
	return kf_figure_best(&o->figure, (size_t)n + o->started);
}

/* How many times as fast; NaN: not known. */
static double ratio_of(const struct kf_cell_result *o,
		       const struct kf_figure_attempt *best, int against)
{
	const struct kf_figure_attempt *start = o->figure.attempt;
	double ratio;

	if (!best)
		return (double)NAN;
	if (against != AGAINST_START)
		return best->ratio[against] > 0 ? best->ratio[against] :
		       (double)NAN;
	if (!o->started || !start->correct)
		return (double)NAN;
	ratio = best->ratio[KF_AGAINST_FASTER] /
		start->ratio[KF_AGAINST_FASTER];
	return ratio > 0 ? ratio : (double)NAN;
}

/* NaN: nothing is known. */
static double answer(const struct kf_cell_result *o, const struct question *q)
{
	const struct kf_figure_attempt *best = best_of(o, q->n);
	double ratio = ratio_of(o, best, q->against);

	if (!o->done)
		return (double)NAN;
	if (q->kind == COST)
		return o->cost[q->cost];
	if (q->kind == CORRECT)
		return best != NULL;
	if (q->kind == SPEED)
		return log(ratio);
	return best && isnan(ratio) ? (double)NAN : best && ratio > q->p;
}

/* --- over problems -------------------------------------------------------- */

/* The mean over the repeats that are known. */
static double of_problem(const struct kf_results *r, struct kf_cell cell,
			 const struct question *q)
{
	size_t known = 0;
	double sum = 0;

	for (cell.repeat = 1; cell.repeat <= r->experiment->repeats;
	     cell.repeat++) {
		double value = answer(&r->result[kf_experiment_index(
					r->experiment, &cell)], q);

		if (isnan(value))
			continue;
		sum += value;
		known++;
	}
	return known ? sum / (double)known : (double)NAN;
}

static struct kf_interval ask(const struct kf_results *r,
			      const struct group *g, const struct question *q)
{
	size_t count = r->experiment->problems.count;
	double *value = kf_alloc(count * sizeof(*value));
	struct kf_interval out;

	for (size_t i = 0; i < count; i++) {
		struct kf_cell cell = { .arm = g->arm, .model = g->model,
					.problem = i };

		value[i] = of_problem(r, cell, q);
		cell.arm = g->other;
		if (g->pair)
			value[i] -= of_problem(r, cell, q);
	}
	out = q->kind == SPEED ? kf_bootstrap_exp(value, count) :
	      kf_bootstrap(value, count);
	free(value);
	return out;
}

/* After all attempts of an arm. */
static struct kf_interval ask_speed(const struct kf_results *r,
				    const struct group *g, int against)
{
	return ask(r, g, &(struct question) {
		.kind = SPEED, .n = r->most_attempts, .against = against,
	});
}

static struct kf_interval ask_correct(const struct kf_results *r,
				      const struct group *g, unsigned n)
{
	return ask(r, g, &(struct question) { .kind = CORRECT, .n = n });
}

/* Where nothing is correct nothing is fast, whatever was measured. */
static bool has_shares(const struct kf_results *r, const struct group *g,
		       int against)
{
	return ask_speed(r, g, against).count ||
	       (against != AGAINST_START &&
		ask_correct(r, g, r->most_attempts).mean <= 0);
}

static struct kf_interval ask_fast(const struct kf_results *r,
				   const struct group *g, int against,
				   double p)
{
	if (!has_shares(r, g, against))		/* not measured */
		return kf_bootstrap(NULL, 0);
	return ask(r, g, &(struct question) {
		.kind = FAST, .n = r->most_attempts, .against = against,
		.p = p,
	});
}

static struct kf_interval ask_cost(const struct kf_results *r,
				   const struct group *g, enum kf_cost cost)
{
	return ask(r, g, &(struct question) { .kind = COST, .cost = cost });
}

static const char *against_name(int against)
{
	return against == AGAINST_START ? "its start" :
	       kf_against_name((enum kf_against)against);
}

/* With one baseline there is no faster one, and none but the problem's own. */
static bool is_known(const struct kf_results *r, const struct group *g,
		     int against)
{
	if (against == KF_AGAINST_EAGER)
		return has_shares(r, g, against);
	if (against == KF_AGAINST_FASTER)
		against = KF_AGAINST_COMPILE;
	return ask_speed(r, g, against).count > 0;
}

/* --- arms, and pairs of them ---------------------------------------------- */

struct groups { struct group *group; size_t count; };	/* owned */

static void add_group(struct groups *groups, struct group group)
{
	groups->group = kf_realloc(groups->group, (groups->count + 1) *
				   sizeof(groups->group[0]));
	groups->group[groups->count++] = group;
}

static struct groups arms_of(const struct kf_experiment *e)
{
	struct groups out = { 0 };

	for (size_t model = 0; model < e->model_count; model++)
		for (size_t arm = 0; arm < e->arm_count; arm++)
			add_group(&out, (struct group) { .arm = arm,
							 .model = model });
	return out;
}

/* Each later arm against each earlier one, or all against one. */
static bool is_wanted(const struct kf_experiment *e, size_t arm, size_t other)
{
	if (!e->against)
		return arm > other;
	return arm != other && strcmp(e->arm[other].name, e->against) == 0;
}

static struct groups pairs_of(const struct kf_experiment *e)
{
	struct groups out = { 0 };
	size_t pairs = e->arm_count * e->arm_count;

	for (size_t i = 0; i < pairs * e->model_count; i++) {
		struct group g = {
			.model = i / pairs, .pair = true,
			.other = i % pairs / e->arm_count,
			.arm = i % e->arm_count,
		};

		if (is_wanted(e, g.arm, g.other))
			add_group(&out, g);
	}
	return out;
}

static size_t runs_done(const struct kf_results *r, const struct group *g)
{
	size_t count = kf_experiment_cells(r->experiment), done = 0;

	for (size_t i = 0; i < count; i++) {
		struct kf_cell cell = kf_experiment_cell(r->experiment, i);

		done += r->result[i].done && cell.arm == g->arm &&
			cell.model == g->model;
	}
	return done;
}

static size_t runs_planned(const struct kf_experiment *e)
{
	return e->problems.count * e->repeats;
}

/* --- Markdown ------------------------------------------------------------- */

struct style { int digits; const char *unit; bool sign; };

static const struct style share = { .digits = 2, .unit = "" };
static const struct style difference = { .digits = 2, .unit = "",
					 .sign = true };
static const struct style factor = { .digits = 2, .unit = "x" };
static const struct style amount = { .digits = 1, .unit = "" };
static const struct style whole = { .digits = 0, .unit = "" };

/* " 0.75 (0.50 to 1.00)" */
static void put(const struct kf_interval *i, struct style style,
		struct kf_buf *out)
{
	const double value[] = { i->mean, i->low, i->high };
	static const char *const before[] = { " ", " (", " to " };
	static const char *const after[] = { "", "", ")" };
	size_t shown = isnan(i->mean) ? 0 : isnan(i->low) ? 1 :
		       KF_COUNT(value);

	for (size_t k = 0; k < shown; k++)
		kf_buf_printf(out, "%s%s%.*f%s%s", before[k],
			      style.sign && value[k] > 0 ? "+" : "",
			      style.digits, value[k], k ? "" : style.unit,
			      after[k]);
}

static void put_cell(struct kf_interval i, struct style style,
		     struct kf_buf *out)
{
	put(&i, style, out);
	kf_buf_puts(out, " |");
}

static void put_names(const struct kf_results *r, const struct group *g,
		      struct kf_buf *out)
{
	const struct kf_experiment *e = r->experiment;

	kf_buf_printf(out, "| %s |", e->arm[g->arm].name);
	if (g->pair)
		kf_buf_printf(out, " %s |", e->arm[g->other].name);
	kf_buf_printf(out, " %s |", e->model[g->model].name);
}

static void put_columns(size_t count, struct kf_buf *out)
{
	kf_buf_puts(out, "\n|");
	while (count--)
		kf_buf_puts(out, "---|");
	kf_buf_puts(out, "\n");
}

static void put_correct(const struct kf_results *r, const struct groups *arms,
			struct kf_buf *out)
{
	size_t n[KF_FIGURE_BY], count = kf_figure_by(r->most_attempts, n);

	kf_buf_puts(out, "| arm | model | runs |");
	for (size_t i = 0; i < count; i++)
		kf_buf_printf(out, "%s %zu |", i ? "" : " correct by attempt",
			      n[i]);
	put_columns(3 + count, out);
	for (size_t k = 0; k < arms->count; k++) {
		const struct group *g = &arms->group[k];

		put_names(r, g, out);
		kf_buf_printf(out, " %zu of %zu |", runs_done(r, g),
			      runs_planned(r->experiment));
		for (size_t i = 0; i < count; i++) {
			if (i && n[i - 1] >= r->attempt_max[g->arm])
				kf_buf_puts(out, " |");	/* it has no more */
			else
				put_cell(ask_correct(r, g, (unsigned)n[i]),
					 share, out);
		}
		kf_buf_puts(out, "\n");
	}
}

static void put_speed(const struct kf_results *r, const struct groups *arms,
		      struct kf_buf *out)
{
	kf_buf_puts(out, "\n| arm | model | against | fast_1 | fast_1.5 | "
		    "fast_2 | geometric mean |");
	put_columns(7, out);
	for (size_t k = 0; k < arms->count; k++) {
		const struct group *g = &arms->group[k];

		for (int against = 0; against < AGAINST_ALL; against++) {
			if (!is_known(r, g, against))
				continue;
			put_names(r, g, out);
			kf_buf_printf(out, " %s |", against_name(against));
			for (size_t p = 0; p < KF_COUNT(kf_figure_p); p++)
				put_cell(ask_fast(r, g, against,
						  kf_figure_p[p]), share, out);
			put_cell(ask_speed(r, g, against), factor, out);
			kf_buf_puts(out, "\n");
		}
	}
}

static void put_costs(const struct kf_results *r, const struct groups *arms,
		      struct kf_buf *out)
{
	kf_buf_puts(out, "\n| arm | model | replies a run | advice | tokens | "
		    "seconds |");
	put_columns(6, out);
	for (size_t k = 0; k < arms->count; k++) {
		const struct group *g = &arms->group[k];

		put_names(r, g, out);
		put_cell(ask_cost(r, g, KF_COST_REPLIES), amount, out);
		put_cell(ask_cost(r, g, KF_COST_ADVICE), amount, out);
		put_cell(ask_cost(r, g, KF_COST_TOKENS), whole, out);
		put_cell(ask_cost(r, g, KF_COST_SECONDS), amount, out);
		kf_buf_puts(out, "\n");
	}
}

static const char *verdict_of(const struct kf_interval *speed)
{
	if (!speed->count)
		return "";
	if (speed->count < KF_BOOTSTRAP_LEAST)
		return "too few problems";
	return speed->low > 1 ? "faster" : speed->high < 1 ? "slower" :
	       "no difference shown";
}

static void put_pairs(const struct kf_results *r, const struct groups *pairs,
		      struct kf_buf *out)
{
	if (!pairs->count)
		return;
	kf_buf_puts(out, "\n| arm | against arm | model | correct | problems "
		    "both solve | times as fast | |");
	put_columns(7, out);
	for (size_t k = 0; k < pairs->count; k++) {
		const struct group *g = &pairs->group[k];
		struct kf_interval speed = ask_speed(r, g, KF_AGAINST_FASTER);

		put_names(r, g, out);
		put_cell(ask_correct(r, g, r->most_attempts), difference,
			 out);
		kf_buf_printf(out, " %zu |", speed.count);
		put_cell(speed, factor, out);
		kf_buf_printf(out, " %s |\n", verdict_of(&speed));
	}
}

static void put_inconclusive(const struct kf_results *r, struct kf_buf *out)
{
	size_t count = kf_experiment_cells(r->experiment);
	size_t timed = 0, conclusive = 0;

	for (size_t i = 0; i < count; i++) {
		const struct kf_cell_result *result = &r->result[i];
		const struct kf_figure_attempt *best =
			best_of(result, r->most_attempts);

		if (isnan(ratio_of(result, best, KF_AGAINST_FASTER)))
			continue;
		timed++;
		conclusive += best->conclusive;
	}
	if (conclusive < timed)
		kf_buf_printf(out, "Of %zu best programs the speed-up of %zu "
			      "is not conclusive (docs/judging.md).\n", timed,
			      timed - conclusive);
}

static const char *plural(size_t count)
{
	return count == 1 ? "" : "s";
}

void kf_results_words(const struct kf_results *r, struct kf_buf *out)
{
	const struct kf_experiment *e = r->experiment;
	struct groups arms = arms_of(e), pairs = pairs_of(e);

	kf_buf_printf(out, "%zu arm%s, %zu model%s, %zu problem%s, %u "
		      "repeat%s\n\n", e->arm_count, plural(e->arm_count),
		      e->model_count, plural(e->model_count),
		      e->problems.count, plural(e->problems.count),
		      e->repeats, plural(e->repeats));
	put_correct(r, &arms, out);
	put_speed(r, &arms, out);
	put_costs(r, &arms, out);
	put_pairs(r, &pairs, out);
	kf_buf_puts(out, "\nMeans over problems, repeats averaged first; in "
		    "brackets their 95 % intervals, by the bootstrap over "
		    "problems. Arms are compared problem by problem.\n");
	put_inconclusive(r, out);
	free(arms.group);
	free(pairs.group);
}

/* --- JSON ----------------------------------------------------------------- */

static void set(json_t *object, const char *key, struct kf_interval interval)
{
	json_object_set_new(object, key, kf_interval_to_json(&interval));
}

static json_t *names_to_json(const struct kf_results *r,
			     const struct group *g)
{
	const struct kf_experiment *e = r->experiment;
	json_t *json = json_pack("{s:s, s:s}", "arm", e->arm[g->arm].name,
				 "model", e->model[g->model].name);

	if (g->pair)
		json_object_set_new(json, "against",
				    json_string(e->arm[g->other].name));
	return json;
}

static json_t *correct_to_json(const struct kf_results *r,
			       const struct group *g)
{
	size_t n[KF_FIGURE_BY];
	size_t count = kf_figure_by(r->attempt_max[g->arm], n);
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++) {
		struct kf_interval by = ask_correct(r, g, (unsigned)n[i]);
		json_t *one = kf_interval_to_json(&by);

		json_object_set_new(one, "attempts",
				    json_integer((json_int_t)n[i]));
		json_array_append_new(list, one);
	}
	return list;
}

static json_t *speed_to_json(const struct kf_results *r,
			     const struct group *g)
{
	static const char *const name[AGAINST_ALL] = {
		[KF_AGAINST_EAGER] = "eager",
		[KF_AGAINST_COMPILE] = "compile",
		[KF_AGAINST_FASTER] = "faster",
		[AGAINST_START] = "start",
	};
	json_t *json = json_object();

	for (int against = 0; against < AGAINST_ALL; against++) {
		json_t *one = json_object();

		for (size_t p = 0; p < KF_COUNT(kf_figure_p); p++) {
			char key[32];

			snprintf(key, sizeof(key), "fast_%g", kf_figure_p[p]);
			set(one, key, ask_fast(r, g, against, kf_figure_p[p]));
		}
		set(one, "geomean", ask_speed(r, g, against));
		json_object_set_new(json, name[against], one);
	}
	return json;
}

static json_t *arm_to_json(const struct kf_results *r, const struct group *g)
{
	json_t *json = names_to_json(r, g);

	json_object_set_new(json, "runs",
			    json_integer((json_int_t)runs_done(r, g)));
	json_object_set_new(json, "planned", json_integer((json_int_t)
			    runs_planned(r->experiment)));
	json_object_set(json, "options",
			r->experiment->arm[g->arm].options);
	json_object_set_new(json, "correct", correct_to_json(r, g));
	json_object_set_new(json, "speed", speed_to_json(r, g));
	set(json, "replies", ask_cost(r, g, KF_COST_REPLIES));
	set(json, "advice", ask_cost(r, g, KF_COST_ADVICE));
	set(json, "tokens", ask_cost(r, g, KF_COST_TOKENS));
	set(json, "seconds", ask_cost(r, g, KF_COST_SECONDS));
	return json;
}

static json_t *pair_to_json(const struct kf_results *r, const struct group *g)
{
	struct kf_interval speed = ask_speed(r, g, KF_AGAINST_FASTER);
	json_t *json = names_to_json(r, g);

	set(json, "correct", ask_correct(r, g, r->most_attempts));
	set(json, "speed", speed);
	json_object_set_new(json, "is", json_string(verdict_of(&speed)));
	return json;
}

static json_t *cell_to_json(const struct kf_results *r, size_t i)
{
	struct kf_cell cell = kf_experiment_cell(r->experiment, i);
	const struct kf_cell_result *o = &r->result[i];
	const struct kf_figure_attempt *best = best_of(o, r->most_attempts);
	json_t *json = names_to_json(r, &(struct group) {
		.arm = cell.arm, .model = cell.model });
	char *folder = kf_cell_dir(r->experiment, &cell);
	json_t *states = json_array();

	for (size_t k = 0; k < o->figure.attempt_count; k++)
		json_array_append_new(states, json_stringn(
				      &o->figure.attempt[k].mark, 1));
	json_object_set_new(json, "problem", json_string(
			    r->experiment->names.path[cell.problem]));
	json_object_set_new(json, "repeat",
			    json_integer((json_int_t)cell.repeat));
	json_object_set_new(json, "run", json_string(folder));
	json_object_set_new(json, "done", json_boolean(o->done));
	json_object_set_new(json, "states", states);
	json_object_set_new(json, "faster", kf_json_number(
			    ratio_of(o, best, KF_AGAINST_FASTER)));
	json_object_set_new(json, "conclusive", json_boolean(best &&
			    best->conclusive));
	free(folder);
	return json;
}

json_t *kf_results_to_json(const struct kf_results *r)
{
	size_t count = kf_experiment_cells(r->experiment);
	struct groups arms = arms_of(r->experiment);
	struct groups pairs = pairs_of(r->experiment);
	json_t *arm = json_array(), *pair = json_array(), *run = json_array();

	for (size_t i = 0; i < arms.count; i++)
		json_array_append_new(arm, arm_to_json(r, &arms.group[i]));
	for (size_t i = 0; i < pairs.count; i++)
		json_array_append_new(pair, pair_to_json(r, &pairs.group[i]));
	for (size_t i = 0; i < count; i++)
		json_array_append_new(run, cell_to_json(r, i));
	free(arms.group);
	free(pairs.group);
	return json_pack("{s:o, s:o, s:o}", "arms", arm, "pairs", pair, "runs",
			 run);
}
