/*
 * experiment.h - arms over problems, models and repeats: kforge experiment.
 *
 *	description -> cells -> a run each -> figures -> table
 *
 * An arm is a set of the options of `kforge run` under a name. A cell is one
 * arm, model, problem and repeat, and is a run in a folder of its own:
 *
 *	DIR/ARM/MODEL/PROBLEM/REPEAT/		the run
 *	DIR/ARM/MODEL/PROBLEM/REPEAT.json	its options, how far it is
 *	DIR/lock				held by who works on it
 *
 * What is there is not paid for again: a cell that is done stays, one that was
 * killed is resumed as any run.
 */
#ifndef KF_CLI_EXPERIMENT_H
#define KF_CLI_EXPERIMENT_H

#include "cli/bootstrap.h"
#include "cli/figures.h"
#include "cli/run_spec.h"

/* --- the description ------------------------------------------------------ */

#define KF_CELLS_MAX 100000u

struct kf_experiment_arm {
	const char *name;
	json_t *options;	/* owned; of all arms, then its own */
};
struct kf_experiment_model { const char *name, *model; };

struct kf_experiment {
	json_t *file;		/* owned; names and models lie in it */
	struct kf_experiment_arm *arm;		/* owned */
	struct kf_experiment_model *model;	/* owned */
	struct kf_paths problems;		/* owned; absolute */
	struct kf_paths names;			/* owned; of the problems */
	size_t arm_count, model_count;
	unsigned repeats;
	const char *against;	/* an arm; NULL: all pairs are compared */
	const char *dir;	/* the caller's to set */
	const struct kf_options *options;	/* of the command; likewise */
};

/* Unknown members, wrong types and mistakes in options are KF_E_INPUT, with the
 * member's name in the sentence. To be released also after a failure. */
KF_MUST_CHECK enum kf_code kf_experiment_read(const char *path,
		struct kf_experiment *out, struct kf_err *err);
void kf_experiment_release(struct kf_experiment *experiment);

/* --- cells ---------------------------------------------------------------- */

struct kf_cell { size_t arm, model, problem; unsigned repeat; };

size_t kf_experiment_cells(const struct kf_experiment *experiment);
/* Arms change first, so that what is there when it is stopped can be
 * compared. */
struct kf_cell kf_experiment_cell(const struct kf_experiment *experiment,
				  size_t i);
size_t kf_experiment_index(const struct kf_experiment *experiment,
			   const struct kf_cell *cell);
/* "rules/small/softmax/1"; caller frees. */
char *kf_cell_name(const struct kf_experiment *experiment,
		   const struct kf_cell *cell) KF_NEVER_NULL;
/* The run's folder; caller frees. */
char *kf_cell_dir(const struct kf_experiment *experiment,
		  const struct kf_cell *cell) KF_NEVER_NULL;

/* What a cell's file says. */
struct kf_cell_note {
	bool there;		/* it was begun */
	bool done;
	double seconds;		/* of all sessions that were not killed */
	char *error;		/* owned; why it could not be run, last; NULL */
};
void kf_cell_note_release(struct kf_cell_note *note);

/* A cell as `kforge run` would have it. Owns all it points to. */
struct kf_cell_run {
	json_t *options;	/* expanded, with the model */
	char files[KF_HASH_HEX];	/* of what the problem, templates and the
					   programs of --start hold */
	struct kf_options parsed;
	struct kf_cli_run run;
	char *dir;
};
/* Mistakes that can be told without working are: a file of --start that is not
 * there, for one. log must outlive it. To be released also after a failure. */
KF_MUST_CHECK enum kf_code kf_cell_open(
		const struct kf_experiment *experiment,
		const struct kf_cell *cell, const struct kf_log *log,
		struct kf_cell_run *out, struct kf_err *err);
void kf_cell_close(struct kf_cell_run *run);

/* KF_E_INPUT if the cell was begun with other options, another model or other
 * files. *out is to be released also after a failure. */
KF_MUST_CHECK enum kf_code kf_cell_note_read(
		const struct kf_experiment *experiment,
		const struct kf_cell *cell, const struct kf_cell_run *run,
		struct kf_cell_note *out, struct kf_err *err);
KF_MUST_CHECK enum kf_code kf_cell_note_write(const struct kf_cell_run *run,
		const struct kf_cell_note *note, struct kf_err *err);

/* --- work ----------------------------------------------------------------- */

struct kf_experiment_counts { size_t done, failed; };

/* Every cell that is not done, --jobs of them at once. One that fails does not
 * stop the others, unless several do so in a row. KF_E_CANCELED: Ctrl-C. */
KF_MUST_CHECK enum kf_code kf_experiment_work(
		const struct kf_experiment *experiment,
		struct kf_experiment_counts *out, struct kf_err *err);

/* --- results -------------------------------------------------------------- */

enum kf_cost {
	KF_COST_REPLIES,	/* programs that were asked for */
	KF_COST_ADVICE,		/* replies of the analysis agent */
	KF_COST_TOKENS,		/* of both, in and out */
	KF_COST_SECONDS,
	KF_COSTS
};

/* What came of one cell. */
struct kf_cell_result {
	bool done;			/* else nothing of it counts */
	bool started;			/* the first attempt is --start's */
	struct kf_figure_problem figure;	/* owned */
	double cost[KF_COSTS];
};

struct kf_results {
	const struct kf_experiment *experiment;
	struct kf_cell_result *result;	/* owned; one for each cell */
	unsigned *attempt_max;		/* owned; of each arm */
	unsigned most_attempts;
};
KF_MUST_CHECK enum kf_code kf_results_read(
		const struct kf_experiment *experiment,
		struct kf_results *out, struct kf_err *err);
void kf_results_release(struct kf_results *results);

/* The tables in Markdown; everything as JSON (new reference). */
void kf_results_words(const struct kf_results *results, struct kf_buf *out);
json_t *kf_results_to_json(const struct kf_results *results);

#endif
