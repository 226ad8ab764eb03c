/* kforge experiment: arms over problems, models and repeats. */
#include "cli/experiment.h"

#define FOLDERS "kforge-experiments"
#define TABLE_BYTES (16u << 20)
/* A session that was killed ends its processes; they let go of the lock. */
#define LOCK_NS (20 * KF_NS_PER_S)

/* kforge-experiments/arms for "papers/arms.json". Caller frees. */
static char *default_dir(const char *file)
{
	const char *slash = strrchr(file, '/');
	const char *name = slash ? slash + 1 : file;
	size_t len = strcspn(name, ".");

	return len ? kf_format(FOLDERS "/%.*s", (int)len, name) :
	       kf_strdup(FOLDERS "/experiment");
}

/* --- --dry-run ------------------------------------------------------------ */

/* What a cell may still ask for. */
struct left { size_t runs; uint64_t programs, advice; };

/* A run that was stopped: what it has is in its store. */
static uint64_t replies_there(const char *run_dir)
{
	struct kf_attempt_row *row = NULL;
	struct kf_store *store = NULL;
	uint64_t there = 0;
	size_t count = 0;

	if (!kf_path_is_dir(run_dir) ||
	    kf_store_open(run_dir, KF_STORE_READ, &store, NULL))
		return 0;
	if (kf_store_attempts(store, 0, &row, &count, NULL))
		count = 0;
	for (size_t i = 0; i < count; i++)
		there += row[i].reply_hash != NULL;
	kf_attempt_rows_free(row, count);
	kf_store_close(store);
	return there;
}

static enum kf_code count_cell(const struct kf_experiment *e,
			       const struct kf_cell *cell, struct left *left,
			       struct kf_err *err)
{
	struct kf_cell_note note = { 0 };
	struct kf_cell_run run;
	enum kf_code code = kf_cell_open(e, cell, NULL, &run, err);

	if (!code)
		code = kf_cell_note_read(e, cell, &run, &note, err);
	if (!code && !note.done) {
		const struct kf_run_spec *spec = &run.run.spec;
		uint64_t there = replies_there(run.dir);
		uint64_t more = there < spec->attempt_max ?
				spec->attempt_max - there : 0;

		left->runs++;
		left->programs += more;
		left->advice += kf_cli_run_advised(spec, more, there ||
						   spec->start_count);
	}
	kf_cell_note_release(&note);
	kf_cell_close(&run);
	return code;
}

static void tell_left(const struct kf_experiment *e, const struct left *left)
{
	size_t count = kf_experiment_cells(e);
	struct left all = { 0 };
	json_t *arms = json_array(), *json;

	for (size_t i = 0; i < e->arm_count; i++) {
		all.runs += left[i].runs;
		all.programs += left[i].programs;
		all.advice += left[i].advice;
		json_array_append_new(arms, json_pack("{s:s, s:I, s:I, s:I}",
			"arm", e->arm[i].name,
			"runs", (json_int_t)left[i].runs,
			"programs", (json_int_t)left[i].programs,
			"advice", (json_int_t)left[i].advice));
	}
	json = json_pack("{s:I, s:I, s:I, s:I, s:o}",
			 "runs", (json_int_t)count,
			 "done", (json_int_t)(count - all.runs),
			 "programs", (json_int_t)all.programs,
			 "advice", (json_int_t)all.advice, "arms", arms);
	if (e->options->json) {
		kf_cli_print_json_take(json);
		return;
	}
	json_decref(json);
	for (size_t i = 0; i < e->arm_count; i++)
		printf("%-20s %6zu runs, at most %llu programs and %llu "
		       "replies of the analysis agent\n", e->arm[i].name,
		       left[i].runs, (unsigned long long)left[i].programs,
		       (unsigned long long)left[i].advice);
	printf("%zu of %zu runs are done; for the rest at most %llu replies; "
	       "nothing was asked\n", count - all.runs, count,
	       (unsigned long long)(all.programs + all.advice));
}

static enum kf_code dry_run(const struct kf_experiment *e, struct kf_err *err)
{
	struct left *left = kf_alloc(e->arm_count * sizeof(*left));
	size_t count = kf_experiment_cells(e);
	enum kf_code code = KF_OK;

	for (size_t i = 0; !code && i < count; i++) {
		struct kf_cell cell = kf_experiment_cell(e, i);

		code = count_cell(e, &cell, &left[cell.arm], err);
	}
	if (!code)
		tell_left(e, left);
	free(left);
	return code;
}

/* --- running -------------------------------------------------------------- */

static enum kf_code print_table(const struct kf_experiment *e,
				struct kf_err *err)
{
	struct kf_buf text = { .max = TABLE_BYTES };
	struct kf_results results;
	enum kf_code code = kf_results_read(e, &results, err);

	if (!code && e->options->json) {
		kf_cli_print_json_take(kf_results_to_json(&results));
	} else if (!code) {
		kf_results_words(&results, &text);
		fputs(kf_buf_str(&text), stdout);
	}
	kf_buf_release(&text);
	kf_results_release(&results);
	return code;
}

static enum kf_code lock(const struct kf_experiment *e, struct kf_lock *out,
			 struct kf_err *err)
{
	enum kf_code code = kf_mkdir_p(e->dir, err);
	char *path = kf_path_join(e->dir, "lock");
	char holder[128];

	if (!code)
		code = kf_lock_wait(path, LOCK_NS, kf_cli_cancel(), out, err);
	if (code == KF_E_TIMEOUT) {
		kf_lock_holder(path, holder, sizeof(holder));
		code = kf_fail(err, KF_E_UNAVAIL, "%s works on %s already: "
			       "wait for it, or look with --table", holder,
			       e->dir);
	}
	free(path);
	return code;
}

static enum kf_code work(const struct kf_experiment *e, size_t *failed,
			 struct kf_err *err)
{
	struct kf_experiment_counts counts = { 0 };
	struct kf_lock held = { 0 };
	enum kf_code code;

	kf_cli_catch_signals();
	code = lock(e, &held, err);
	if (!code)
		code = kf_experiment_work(e, &counts, err);
	kf_lock_release(&held);
	*failed = counts.failed;
	return code;
}

static int experiment(const struct kf_options *options, const char **argument,
		      size_t argument_count)
{
	struct kf_experiment e;
	struct kf_err err = { 0 };
	char *dir = options->out ? kf_strdup(options->out) :
		    default_dir(argument[0]);
	enum kf_code code = kf_experiment_read(argument[0], &e, &err);
	size_t failed = 0;

	(void)argument_count;
	e.dir = dir;
	e.options = options;
	if (!code && options->dry_run)
		code = dry_run(&e, &err);
	else if (!code && !options->table)
		code = work(&e, &failed, &err);
	if (!code && !options->dry_run)
		code = print_table(&e, &err);
	kf_experiment_release(&e);
	free(dir);
	if (code)
		return kf_cli_fail(&err);
	return failed ? KF_EXIT_NOT_ALL : KF_EXIT_GOOD;
}

const struct kf_command kf_command_experiment = {
	.name = "experiment",
	.arguments = "FILE",
	.summary = "compare ways to run: arms over problems, models and repeats, with intervals",
	.options = "out jobs dry-run table sandbox python cache executor json "
		   "quiet verbose help",
	.argument_min = 1,
	.argument_max = 1,
	.run = experiment,
};
