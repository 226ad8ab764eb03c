/* A run: its settings, its problems, and going on with one that was stopped. */
#include "loop/run.h"

#include <dirent.h>

#include "executor/away.h"
#include "executor/shapes.h"
#include "loop/settings.h"
#include "store/advice.h"

#define REJUDGE_COUNT 3		/* unless another number was asked for */

/* Its texts go to the store, one for each shape. */
static enum kf_code add_shapes(struct kf_run *run,
			       const struct kf_problem *problem, size_t count,
			       json_t *list, struct kf_err *err)
{
	enum kf_code code = KF_OK;

	for (size_t i = 0; !code && i < count; i++) {
		char source[KF_HASH_HEX];

		code = kf_store_put(run->store, problem[i].source,
				    strlen(problem[i].source), source, err);
		if (!code)
			json_array_append_new(list, json_pack(
				"{s:s?, s:s, s:s}", "name", problem[i].shape,
				"source", source, "hash", problem[i].hash));
	}
	return code;
}

static enum kf_code add_problem(struct kf_run *run, const char *path,
				json_t *seen, struct kf_err *err)
{
	struct kf_problem_spec spec = run->setup.problem_spec;
	json_t *info = NULL, *shapes = json_array();
	struct kf_problem *problem;
	enum kf_code code;
	size_t count;
	int64_t id;

	spec.path = path;
	code = kf_shapes_problems(&spec, run->setup.shapes, &problem, &count,
				  err);
	if (code)
		goto out;
	if (json_object_get(seen, problem->name)) {
		code = kf_fail(err, KF_E_INPUT,
			       "%s and %s would both be called %s in this run: "
			       "rename one file or make two runs",
			       kf_json_str(seen, problem->name, ""), path,
			       problem->name);
		goto out;
	}
	json_object_set_new(seen, problem->name, json_string(path));
	code = add_shapes(run, problem, count, shapes, err);
	if (code)
		goto out;
	info = json_pack("{s:s, s:s, s:s}", "path", path, "kind",
			 kf_problem_kind_name(problem->kind), "source",
			 kf_json_str(json_array_get(shapes, 0), "source", ""));
	if (problem->shape)
		json_object_set(info, "shapes", shapes);
	code = kf_store_problem_add(run->store, problem->name, problem->hash,
				    info, &id, err);
out:
	json_decref(info);
	json_decref(shapes);
	kf_shapes_problems_free(problem, count);
	return code;
}

/* Every problem is read and kept before the first is worked on. A run that
 * was killed while doing so begins again here; later the files may go. */
static enum kf_code add_problems(struct kf_run *run, struct kf_err *err)
{
	const struct kf_run_spec *spec = run->spec;
	json_t *kept = NULL, *seen = json_object();
	enum kf_code code;

	code = kf_store_problems(run->store, &kept, err);
	for (size_t i = 0; !code && i < spec->problem_count &&
	     json_array_size(kept) < spec->problem_count; i++)
		code = add_problem(run, spec->problem[i], seen, err);
	json_decref(seen);
	json_decref(kept);
	return code;
}

/* A problem in all shapes on which programs are judged: *out is an array of
 * *count, for kf_shapes_problems_free. */
static enum kf_code shapes_from_store(struct kf_run *run, const json_t *row,
				      struct kf_problem **out, size_t *count,
				      struct kf_err *err)
{
	const json_t *shapes = json_object_get(json_object_get(row, "info"),
					       "shapes");
	enum kf_code code = KF_OK;

	*count = json_array_size(shapes) ? json_array_size(shapes) : 1;
	*out = kf_alloc(*count * sizeof(**out));
	for (size_t i = 0; !code && i < *count; i++)
		code = kf_settings_problem(run->store, row,
					   json_array_get(shapes, i),
					   &(*out)[i], err);
	return code;
}

enum kf_code kf_run_open_target(struct kf_run *run, struct kf_setup *setup,
				const json_t *row, struct kf_target *out,
				struct kf_err *err)
{
	struct kf_problem *problem;
	enum kf_code code;
	size_t count;

	code = shapes_from_store(run, row, &problem, &count, err);
	if (!code)
		code = setup->away ?
		       kf_away_open_take_shapes(setup, problem, count,
						out, err) :
		       kf_target_open_take_shapes(setup, problem, count,
						  out, err);
	kf_shapes_problems_free(problem, count);
	return code || setup->away ? code :
	       kf_evaluate_check_calls(&out->problem, &out->bundle,
				       run->spec->call_count_fixed, err);
}

struct kf_job kf_run_job(const struct kf_run *run)
{
	const struct kf_run_spec *spec = run->spec;

	return (struct kf_job) {
		.platform = run->setup.place,
		.form = (char *)(uintptr_t)spec->setup.form,
		.rules = spec->rules,
		.libraries = spec->libraries,
		.baseline = spec->setup.baseline,
		.seed = spec->seed,
		.calls = spec->call_count_fixed,
		.threads = spec->setup.threads,
		.sandbox = spec->setup.tier_min,
	};
}

/* What earlier sessions of this run have used. */
static enum kf_code count_past(struct kf_run *run, struct kf_err *err)
{
	struct kf_attempt_row *row = NULL;
	uint64_t advised = 0;
	unsigned replies;
	enum kf_code code;
	size_t count = 0;

	code = kf_store_attempts(run->store, 0, &row, &count, err);
	for (size_t i = 0; i < count; i++) {
		run->summary->tokens += row[i].tokens_in + row[i].tokens_out;
		run->summary->asked_count += row[i].reply_hash != NULL;
	}
	kf_attempt_rows_free(row, count);
	if (!code)
		code = kf_store_advice_used(run->store, 0, &advised, &replies,
					    err);
	run->summary->tokens += advised;
	return code;
}

static enum kf_code run_problems(struct kf_run *run, struct kf_err *err)
{
	json_t *list = NULL, *row;
	enum kf_code code;
	size_t i;

	code = add_problems(run, err);
	if (!code)
		code = count_past(run, err);
	if (!code)
		code = kf_store_problems(run->store, &list, err);
	run->summary->problem_count = json_array_size(list);
	json_array_foreach(list, i, row) {
		if (!code)
			code = kf_run_problem(run, row, err);
	}
	json_decref(list);
	return code;
}

/* A job with its result stays; one that a kill cut short is of no use. */
static void tidy_job(const char *job)
{
	char *result = kf_path_join(job, "result.json");
	char *scratch = kf_path_join(job, "work");

	(void)!kf_remove_tree(kf_path_exists(result) ? scratch : job, NULL);
	kf_temporaries_sweep(job, "");
	free(scratch);
	free(result);
}

static void tidy_work_dir(const struct kf_store *store)
{
	char *work_dir = kf_path_join(kf_store_dir(store), "work");
	DIR *dir = opendir(work_dir);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char *job;

		if (entry->d_name[0] == '.')
			continue;
		job = kf_path_join(work_dir, entry->d_name);
		tidy_job(job);
		free(job);
	}
	if (dir)
		closedir(dir);
	free(work_dir);
}

static enum kf_code make_work_dir(struct kf_run *run, struct kf_err *err)
{
	const char *run_dir = kf_store_dir(run->store);

	run->dir = realpath(run_dir, NULL);
	if (!run->dir)
		return kf_fail_errno(err, "cannot find the run's folder %s",
				     run_dir);
	run->work_dir = kf_path_join(run->dir, "work");
	return kf_mkdir_p(run->work_dir, err);
}

/* A reply is there from its arrival until the store has it. */
static enum kf_code keep_replies(const struct kf_run *run,
				 struct kf_model *model, const char *name,
				 struct kf_err *err)
{
	char *path = kf_path_join(kf_store_dir(run->store), name);
	enum kf_code code = kf_model_keep(model, path, err);

	kf_temporaries_sweep(kf_store_dir(run->store), name);
	free(path);
	return code;
}

bool kf_loop_asks_advisor(const struct kf_run_spec *spec)
{
	return strcmp(spec->advisor, "rules") != 0 &&
	       strcmp(spec->advisor, "none") != 0;
}

static enum kf_code open_models(struct kf_run *run, struct kf_err *err)
{
	const struct kf_run_spec *spec = run->spec;
	bool asked = kf_loop_asks_advisor(spec);
	enum kf_code code = kf_model_open(spec->model, spec->record_path,
					  &run->model, err);

	if (!code)
		code = keep_replies(run, run->model, "arrived.jsonl", err);
	if (!code && asked)
		code = kf_model_open(spec->advisor, spec->record_path,
				     &run->advisor, err);
	if (!code && asked)
		code = keep_replies(run, run->advisor, "advised.jsonl", err);
	return code;
}

static enum kf_code run_with(const struct kf_run_spec *spec,
			     struct kf_store *store,
			     const struct kf_watch *watch,
			     struct kf_run_summary *out, struct kf_err *err)
{
	struct kf_run run = { .spec = spec, .watch = watch, .summary = out,
			     .store = store };
	enum kf_code code;

	code = make_work_dir(&run, err);
	if (!code)
		code = kf_setup_open(&spec->setup, &run.setup, err);
	if (!code)
		code = open_models(&run, err);
	if (!code)
		code = run_problems(&run, err);
	kf_model_free(run.advisor);
	kf_model_free(run.model);
	kf_setup_release(&run.setup);
	free(run.work_dir);
	free(run.dir);
	return code;
}

static enum kf_code resume_with(const struct kf_run_spec *given,
				struct kf_store *store,
				const struct kf_watch *watch,
				struct kf_run_summary *out,
				struct kf_err *err)
{
	struct kf_settings settings = { 0 };
	json_t *json = NULL;
	enum kf_code code;

	code = kf_store_settings(store, &json, err);
	if (!code)
		code = kf_settings_to_spec(json, &settings, err);
	if (code)
		goto out;
	settings.spec.run_dir = given->run_dir;
	settings.spec.setup.log = given->setup.log;
	settings.spec.setup.cancel = given->setup.cancel;
	settings.spec.setup.measure = given->setup.measure;
	if (given->model)
		settings.spec.model = given->model;
	if (given->advisor)
		settings.spec.advisor = given->advisor;
	if (given->rejudge_count != KF_REJUDGE_UNSAID)
		settings.spec.rejudge_count = given->rejudge_count;
	tidy_work_dir(store);
	code = run_with(&settings.spec, store, watch, out, err);
out:
	kf_settings_release(&settings);
	json_decref(json);
	return code;
}

static enum kf_code begin(const struct kf_run_spec *spec,
			  struct kf_store *store, struct kf_err *err)
{
	json_t *settings = kf_settings_from_spec(spec);
	enum kf_code code = kf_store_settings_set(store, settings, err);

	json_decref(settings);
	return code;
}

/* Where it cannot be told, there may be some. */
static bool has_attempts(struct kf_store *store)
{
	struct kf_attempt_row *row = NULL;
	size_t count = 0;
	enum kf_code code = kf_store_attempts(store, 0, &row, &count, NULL);

	kf_attempt_rows_free(row, count);
	return code || count;
}

/* A new run that failed before it had an attempt leaves nothing behind: its
 * settings are what was wrong, and they cannot be resumed into right ones. */
enum kf_code kf_loop_run(const struct kf_run_spec *given, bool resume,
			 const struct kf_watch *watch,
			 struct kf_run_summary *out, struct kf_err *err)
{
	struct kf_run_spec whole = *given, *spec = &whole;
	struct kf_store *store = NULL;
	enum kf_code code;

	*out = (struct kf_run_summary) { 0 };
	if (!resume && spec->rejudge_count == KF_REJUDGE_UNSAID)
		spec->rejudge_count = REJUDGE_COUNT;
	code = kf_store_open(spec->run_dir,
			     resume ? KF_STORE_WRITE : KF_STORE_CREATE,
			     &store, err);
	if (code)
		return code;
	if (resume)
		code = resume_with(spec, store, watch, out, err);
	else
		code = begin(spec, store, err);
	if (!code && !resume)
		code = run_with(spec, store, watch, out, err);
	if (code && code != KF_E_CANCELED && !resume && !has_attempts(store)) {
		kf_store_discard(store);
		*out = (struct kf_run_summary) { 0 };
	} else {
		kf_store_close(store);
	}
	return code;
}
