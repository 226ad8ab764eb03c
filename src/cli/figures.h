/*
 * figures.h - what the attempts at a set of problems come to: how many are
 * correct by attempt n, fast_p as KernelBench defines it, geometric means.
 * Pure.
 *
 * A problem counts with its best program among the first n attempts: the one
 * with the largest speed-up against the faster of the baselines. A problem
 * without a correct program is never fast, and in no mean.
 */
#ifndef KF_CLI_FIGURES_H
#define KF_CLI_FIGURES_H

#include "base/json.h"

enum kf_against {
	KF_AGAINST_EAGER,	/* of a C problem: its reference */
	KF_AGAINST_COMPILE,	/* torch.compile */
	KF_AGAINST_FASTER,	/* the faster of those that were measured */
	KF_AGAINST_COUNT
};
const char *kf_against_name(enum kf_against against);	/* "faster" */

struct kf_figure_attempt {
	char mark;		/* see kf_figure_mark */
	bool correct;		/* by the rules that decided */
	bool kernelbench;	/* by the benchmark's own rule */
	bool conclusive;	/* its ratios may be built on */
	double ratio[KF_AGAINST_COUNT];	/* speed-up; NaN if unknown */
};

struct kf_figure_problem {
	struct kf_figure_attempt *attempt;	/* owned */
	size_t attempt_count;
};
void kf_figures_release(struct kf_figure_problem *problem, size_t count);

/* The five states and none: 'c' correct, 'm' mismatch, 'r' runtime error, 'b'
 * compilation failure (it does not build), 'g' generation failure, '-'. */
char kf_figure_mark(const char *state);

/* From what was measured: the times of the program and of the baseline that
 * ran in turn with it ("eager", "compile", "reference"), and what eager and
 * compile took by themselves, NaN if unknown. */
void kf_figure_ratios(double speedup, const char *baseline, double eager_ns,
		      double compile_ns, double ratio[KF_AGAINST_COUNT]);

/* The best among the first n attempts, or NULL. */
const struct kf_figure_attempt *kf_figure_best(
		const struct kf_figure_problem *problem, size_t n);

/* After which attempts to look: 1, 2, 3, 5 and so on, and the last; returns
 * how many. */
#define KF_FIGURE_BY 8
size_t kf_figure_by(size_t attempt_max, size_t n[KF_FIGURE_BY]);

struct kf_figures {
	size_t problem_count, correct_count, kernelbench_count;
	/* Problems that count against a baseline: all but those whose best
	 * program was timed, but not against this one. */
	size_t against_count[KF_AGAINST_COUNT];
	/* Of these, the share that is correct and faster than p times: 0 where
	 * nothing is correct; NaN without problems, and where no correct
	 * program was timed against that baseline. */
	double fast[KF_AGAINST_COUNT][3];	/* p = 1, 1.5, 2 */
	double geomean[KF_AGAINST_COUNT];	/* NaN: none */
	double geomean_less_two[KF_AGAINST_COUNT]; /* without the two largest;
						      NaN if that leaves none */
};
extern const double kf_figure_p[3];
/* Of the first n attempts at each. */
void kf_figures_make(const struct kf_figure_problem *problem, size_t count,
		     size_t n, struct kf_figures *out);
/* New reference. */
json_t *kf_figures_to_json(const struct kf_figures *figures);

#endif
