#include "cli/figures.h"

#include <math.h>

const double kf_figure_p[3] = { 1, 1.5, 2 };

const char *kf_against_name(enum kf_against against)
{
	static const char *const name[] = {
		[KF_AGAINST_EAGER] = "eager",
		[KF_AGAINST_COMPILE] = "compile",
		[KF_AGAINST_FASTER] = "faster",
	};

	return name[against];
}

void kf_figures_release(struct kf_figure_problem *problem, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(problem[i].attempt);
	free(problem);
}

char kf_figure_mark(const char *state)
{
	static const struct { const char *state; char mark; } rows[] = {
		{ "correct", 'c' }, { "mismatch", 'm' },
		{ "runtime_error", 'r' }, { "compilation_failure", 'b' },
		{ "generation_failure", 'g' },
	};

	for (size_t i = 0; i < KF_COUNT(rows); i++)
		if (strcmp(rows[i].state, state) == 0)
			return rows[i].mark;
	return '-';
}

/* The baseline that was timed in turn stands in both; the other is to it as
 * the two were when each ran by itself. */
void kf_figure_ratios(double speedup, const char *baseline, double eager_ns,
		      double compile_ns, double ratio[KF_AGAINST_COUNT])
{
	bool compiled = strcmp(baseline, "compile") == 0;
	double other = compiled ? eager_ns / compile_ns : compile_ns / eager_ns;

	ratio[KF_AGAINST_FASTER] = speedup;
	ratio[KF_AGAINST_EAGER] = compiled ? speedup * other : speedup;
	ratio[KF_AGAINST_COMPILE] = compiled ? speedup : speedup * other;
}

const struct kf_figure_attempt *kf_figure_best(
		const struct kf_figure_problem *problem, size_t n)
{
	const struct kf_figure_attempt *best = NULL;

	for (size_t i = 0; i < problem->attempt_count && i < n; i++) {
		const struct kf_figure_attempt *a = &problem->attempt[i];

		if (a->correct && (!best || a->ratio[KF_AGAINST_FASTER] >
					    best->ratio[KF_AGAINST_FASTER] ||
				   isnan(best->ratio[KF_AGAINST_FASTER])))
			best = a;
	}
	return best;
}

size_t kf_figure_by(size_t attempt_max, size_t n[KF_FIGURE_BY])
{
	static const size_t usual[KF_FIGURE_BY - 1] = {
		1, 2, 3, 5, 10, 20, 50,
	};
	size_t count = 0;

	for (size_t i = 0; i < KF_COUNT(usual); i++)
		if (usual[i] < attempt_max)
			n[count++] = usual[i];
	if (attempt_max)
		n[count++] = attempt_max;
	return count;
}

static int smaller_first(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double geomean(const double *value, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += log(value[i]);
	return count ? exp(sum / (double)count) : (double)NAN;
}

/* is_known: shares are; of no program they are 0 whatever was measured. */
static void make_against(const double *value, size_t count, size_t all,
			 bool is_known, double fast[3], double *mean,
			 double *less_two)
{
	for (size_t k = 0; k < 3; k++) {
		size_t faster = 0;

		for (size_t i = 0; i < count; i++)
			faster += value[i] > kf_figure_p[k];
		fast[k] = is_known ? (double)faster / (double)all : (double)NAN;
	}
	*mean = geomean(value, count);
	*less_two = geomean(value, count > 2 ? count - 2 : 0);
}

void kf_figures_make(const struct kf_figure_problem *problem, size_t count,
		     size_t n, struct kf_figures *out)
{
	double *value = kf_alloc((count + 1) * sizeof(*value));

	*out = (struct kf_figures) { .problem_count = count };
	for (size_t i = 0; i < count; i++) {
		bool kernelbench = false;

		out->correct_count += kf_figure_best(&problem[i], n) != NULL;
		for (size_t k = 0; k < problem[i].attempt_count && k < n; k++)
			kernelbench |= problem[i].attempt[k].kernelbench;
		out->kernelbench_count += kernelbench;
	}
	for (int g = 0; g < KF_AGAINST_COUNT; g++) {
		size_t known = 0, all = count;

		for (size_t i = 0; i < count; i++) {
			const struct kf_figure_attempt *best =
				kf_figure_best(&problem[i], n);

			if (best && best->ratio[g] > 0)
				value[known++] = best->ratio[g];
			else if (best && best->ratio[KF_AGAINST_FASTER] > 0)
				all--;
		}
		out->against_count[g] = all;
		qsort(value, known, sizeof(*value), smaller_first);
		make_against(value, known, all, known ||
			     (count && !out->correct_count), out->fast[g],
			     &out->geomean[g], &out->geomean_less_two[g]);
	}
	free(value);
}

json_t *kf_figures_to_json(const struct kf_figures *f)
{
	json_t *json = json_pack("{s:I, s:I, s:I}",
		"problems", (json_int_t)f->problem_count,
		"correct", (json_int_t)f->correct_count,
		"kernelbench_correct", (json_int_t)f->kernelbench_count);

	for (enum kf_against g = 0; g < KF_AGAINST_COUNT; g++) {
		json_t *one = json_pack("{s:I, s:o, s:o}", "problems",
			(json_int_t)f->against_count[g], "geomean",
			kf_json_number(f->geomean[g]),
			"geomean_without_two_largest",
			kf_json_number(f->geomean_less_two[g]));

		for (size_t k = 0; k < 3; k++) {
			char key[32];

			snprintf(key, sizeof(key), "fast_%g", kf_figure_p[k]);
			json_object_set_new(one, key,
					    kf_json_number(f->fast[g][k]));
		}
		json_object_set_new(json, kf_against_name(g), one);
	}
	return json;
}
