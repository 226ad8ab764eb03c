/* kforge export: a verified program as a folder that lives without kforge. */

#include "cli/cli.h"
#include "loop/settings.h"

/* What all exports of one command share. */
struct job {
	const struct kf_options *options;
	struct kf_setup setup;
	const struct kf_log *log;
	json_t *done;		/* what --json prints */
	int status;		/* of a program that is not correct */
};

/* One program with its problem, wherever it came from. */
struct item {
	struct kf_target target;
	struct kf_candidate candidate;
	char *verdict;		/* a sentence; NULL: not judged */
};

static void item_release(struct item *item)
{
	kf_candidate_release(&item->candidate);
	kf_target_release(&item->target);
	free(item->verdict);
	*item = (struct item) { 0 };
}

/* --- judging ------------------------------------------------------------- */

static enum kf_code judge_values(struct job *job, struct item *item,
				 struct kf_verdict *verdict,
				 struct kf_err *err)
{
	struct kf_temporary scratch;
	char *source_dir, *work_dir;
	enum kf_code code = kf_cli_scratch("export", &scratch, err);

	if (code)
		return code;
	source_dir = kf_path_join(scratch.path, "source");
	work_dir = kf_path_join(scratch.path, "judge");
	code = kf_candidate_write(&item->candidate, source_dir, err);
	if (!code)
		code = kf_judge(&(struct kf_judge_spec) {
			.setup = &job->setup,
			.target = &item->target,
			.stop_after = KF_REACH_VALUES,
			.source_dir = source_dir,
			.work_dir = work_dir,
		}, verdict, err);
	(void)kf_temporary_remove(&scratch, NULL);
	free(work_dir);
	free(source_dir);
	return code;
}

static void say_not_correct(struct job *job, const struct item *item,
			    const struct kf_verdict *verdict)
{
	struct kf_buf words = { .max = 1u << 16 };

	kf_verdict_explain(verdict, &words);
	fputs(kf_buf_str(&words), stderr);
	fprintf(stderr, "kforge: this program for %s is not correct, so it was "
		"not exported\n", item->target.problem.name);
	kf_buf_release(&words);
	job->status = kf_cli_status(verdict);
}

/* Fills item->verdict, or says why not and leaves it NULL. */
static enum kf_code verify(struct job *job, struct item *item,
			   struct kf_err *err)
{
	struct kf_verdict verdict = { 0 };
	enum kf_code code = KF_OK;
	char now[32];

	if (item->candidate.end == KF_EXTRACT_GOOD)
		code = judge_values(job, item, &verdict, err);
	else
		kf_generation_failure(&item->candidate, &verdict);
	if (!code && verdict.state == KF_CORRECT) {
		kf_time_iso(now);
		item->verdict = kf_format(
			"Judged correct by kforge " KF_VERSION ", %s, on %s.",
			now, job->setup.device.name);
	} else if (!code) {
		say_not_correct(job, item, &verdict);
	}
	kf_verdict_release(&verdict);
	return code;
}

/* --- exporting ----------------------------------------------------------- */

static json_t *export_to_json(const struct kf_export_request *req,
			      const struct kf_export *made)
{
	json_t *names = json_array();

	for (size_t i = 0; i < made->allocate_count; i++)
		json_array_append_new(names, json_string(made->allocates[i]));
	return json_pack("{s:s, s:s?, s:s, s:s, s:s, s:b, s:b, s:s, s:o, s:I}",
		"problem", req->problem->name, "shape", req->problem->shape,
		"as", kf_export_form_name(req->form),
		"dir", req->dir, "library", made->library,
		"verified", req->verified, "portable", req->portable,
		"example", made->example, "allocates", names,
		"static_bytes", (json_int_t)made->static_bytes);
}

static void print_words(const struct kf_export_request *req,
			const struct kf_export *made)
{
	printf("%s -> %s\n%s\n", req->problem->name, made->library,
	       req->verdict);
	if (req->problem->shape)
		printf("made for shape %s alone; --shape chooses another\n",
		       req->problem->shape);
	if (req->form == KF_EXPORT_CUDA)
		printf("nothing of it is compiled yet: `make` and ./example "
		       "there build and try it\n");
	if (made->example[0])
		printf("its example: %s", made->example);
	if (made->allocate_count)
		printf("note: the program calls %s%s by itself, so a call is "
		       "not free of allocations\n", made->allocates[0],
		       made->allocate_count > 1 ? " and others" : "");
	if (made->static_bytes)
		printf("note: the program has static variables, so its calls "
		       "must not overlap\n");
}

static enum kf_code check(const struct job *job, const struct item *item,
			  struct kf_err *err)
{
	const struct kf_problem *problem = &item->target.problem;
	const struct kf_export_request req = {
		.form = (enum kf_export_form)job->options->as,
		.platform = job->setup.platform,
		.problem = problem->name ? problem : NULL,
	};

	return kf_export_check(&req, err);
}

static enum kf_code export_item(struct job *job, const struct item *item,
				const char *dir, struct kf_err *err)
{
	const struct kf_device_wait wait = kf_setup_wait(&job->setup);
	struct kf_export made = { 0 };
	const struct kf_export_request req = {
		.form = (enum kf_export_form)job->options->as,
		.platform = job->setup.platform,
		.device = &job->setup.device,
		.problem = &item->target.problem,
		.bundle = &item->target.bundle,
		.candidate = &item->candidate,
		.dir = dir,
		.verified = item->verdict != NULL,
		.verdict = item->verdict ? item->verdict
			 : "NOT VERIFIED: nobody has judged this program.",
		.portable = job->options->portable,
		.tier_min = job->setup.problem_spec.tier_min,
		.wait = &wait,
		.cancel = job->setup.problem_spec.cancel,
	};
	enum kf_code code = kf_export(&req, &made, err);

	if (!code && job->options->json)
		json_array_append_new(job->done, export_to_json(&req, &made));
	else if (!code && !job->options->quiet)
		print_words(&req, &made);
	kf_export_release(&made);
	return code;
}

/* --- from files ---------------------------------------------------------- */

/* Files tell their form, here as in verify. */
static enum kf_code open_setup(struct job *job, const char *const *file,
			       size_t count, struct kf_err *err)
{
	struct kf_setup_spec spec = kf_cli_setup_spec(job->options, job->log);
	char *form = NULL;
	enum kf_code code = kf_candidate_form(spec.platform, file, count,
					      &form, err);

	spec.baseline = KF_BASELINE_NONE;
	spec.form = form;
	if (!code)
		code = kf_setup_open(&spec, &job->setup, err);
	free(form);
	return code;
}

static enum kf_code from_files(struct job *job, const char **argument,
			       size_t count, struct kf_err *err)
{
	const struct kf_options *options = job->options;
	struct item item = { 0 };
	enum kf_code code;

	code = kf_export_check_dir(options->out, err);
	if (!code)
		code = open_setup(job, argument + 1, count - 1, err);
	if (!code)
		code = check(job, &item, err);
	if (!code)
		code = kf_candidate_read(argument + 1, count - 1,
					 job->setup.platform, &item.candidate,
					 err);
	if (!code && options->unverified &&
	    item.candidate.end != KF_EXTRACT_GOOD)
		code = kf_fail(err, KF_E_INPUT, "there is no program to "
			       "export: %s", item.candidate.text);
	if (!code)
		code = kf_target_open(&job->setup, argument[0], &item.target,
				      err);
	if (!code)
		code = check(job, &item, err);
	if (!code && !options->unverified)
		code = verify(job, &item, err);
	if (!code && (options->unverified || item.verdict))
		code = export_item(job, &item, options->out, err);
	item_release(&item);
	return code;
}

/* --- from a run ---------------------------------------------------------- */

struct run {
	const char *dir;
	struct kf_store *store;
	json_t *settings, *problems;
	bool strict;		/* its verdicts are by our own rules */
};

/* An export is for one shape: the one that was asked for, or the first. *out is
 * NULL where the problem has just one, without a name. */
static enum kf_code choose_shape(const struct job *job, const struct run *run,
				 const json_t *row, const json_t **out,
				 struct kf_err *err)
{
	const json_t *shapes = json_object_get(json_object_get(row, "info"),
					       "shapes"), *shape;
	const char *asked = job->options->shape;
	struct kf_buf names = { .max = 256 };
	enum kf_code code = KF_OK;
	size_t i;

	*out = asked ? NULL : json_array_get(shapes, 0);
	json_array_foreach(shapes, i, shape) {
		const char *name = kf_json_str(shape, "name", "");

		if (asked && strcmp(name, asked) == 0)
			*out = shape;
		kf_buf_printf(&names, "%s%s", i ? ", " : "", name);
	}
	if (asked && !*out)
		code = kf_fail(err, KF_E_INPUT, "run %s judged %s on %s, and "
			       "none is called %s: choose another --shape, or "
			       "leave it out", run->dir,
			       kf_json_str(row, "name", ""), names.len ?
			       kf_buf_str(&names) : "one shape without a name",
			       asked);
	kf_buf_release(&names);
	return code;
}

/* Takes the best correct program of that problem out of the store; *found is
 * false if there is none. */
static enum kf_code take_best(const struct run *run, const json_t *row,
			      struct item *item, bool *found,
			      struct kf_err *err)
{
	struct kf_attempts attempts = { 0 };
	const struct kf_attempt *best;
	enum kf_code code;

	*found = false;
	code = kf_attempts_load(run->store, kf_json_int(row, "id", 0),
				&attempts, err);
	if (code)
		goto out;
	best = kf_attempts_best(&attempts);
	if (!best)
		goto out;
	*found = true;
	item->candidate = best->candidate;
	attempts.attempt[best - attempts.attempt].candidate =
		(struct kf_candidate) { 0 };
	if (run->strict)
		item->verdict = kf_format(
			"Judged correct by kforge: attempt %u of run %s%s.",
			best->number, run->dir,
			json_object_get(json_object_get(row, "info"), "shapes")
			? ", on all of its shapes" : "");
out:
	kf_attempts_release(&attempts);
	return code;
}

static enum kf_code export_row(struct job *job, const struct run *run,
			       const json_t *row, const char *dir,
			       struct kf_err *err)
{
	struct kf_problem problem = { 0 };
	struct item item = { 0 };
	const json_t *shape;
	enum kf_code code;
	bool found;

	code = take_best(run, row, &item, &found, err);
	if (!code && !found) {
		kf_logf(job->log, KF_LOG_WARN, "%s has no correct program in "
			"this run, so nothing of it was exported",
			kf_json_str(row, "name", "?"));
		job->status = KF_EXIT_NOT_ALL;
	}
	if (code || !found)
		goto out;
	code = check(job, &item, err);
	if (!code)
		code = choose_shape(job, run, row, &shape, err);
	if (!code)
		code = kf_settings_problem(run->store, row, shape, &problem,
					   err);
	if (!code)
		code = kf_target_open_take_problem(&job->setup, &problem,
						   &item.target, err);
	if (!code)
		code = check(job, &item, err);
	if (!code && !item.verdict && !job->options->unverified)
		code = verify(job, &item, err);
	if (!code && (item.verdict || job->options->unverified))
		code = export_item(job, &item, dir, err);
out:
	kf_problem_release(&problem);
	item_release(&item);
	return code;
}

static bool is_wanted(const json_t *row, const char **name, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(kf_json_str(row, "name", ""), name[i]) == 0)
			return true;
	return count == 0;
}

static enum kf_code all_known(const struct run *run, const char **name,
			      size_t count, struct kf_err *err)
{
	for (size_t i = 0; i < count; i++) {
		const json_t *row;
		bool known = false;
		size_t k;

		json_array_foreach(run->problems, k, row) {
			known |= is_wanted(row, &name[i], 1);
		}
		if (!known)
			return kf_fail(err, KF_E_INPUT, "run %s has no problem "
				       "%s; `kforge show %s` lists them",
				       run->dir, name[i], run->dir);
	}
	return KF_OK;
}

/* One program goes into --out itself, several into folders below it. */
static char *dir_of(const struct job *job, const struct run *run,
		    const json_t *row, size_t name_count)
{
	if (name_count == 1 || json_array_size(run->problems) == 1)
		return kf_strdup(job->options->out);
	return kf_path_join(job->options->out, kf_json_str(row, "name", ""));
}

/* Before any work: are problems, shapes and folders what they should be? */
static enum kf_code check_rows(const struct job *job, const struct run *run,
			       const char **name, size_t count,
			       struct kf_err *err)
{
	enum kf_code code = all_known(run, name, count, err);
	const json_t *row, *shape;
	size_t i;

	json_array_foreach(run->problems, i, row) {
		char *dir = dir_of(job, run, row, count);

		if (!code && is_wanted(row, name, count))
			code = choose_shape(job, run, row, &shape, err);
		if (!code && is_wanted(row, name, count))
			code = kf_export_check_dir(dir, err);
		free(dir);
	}
	return code;
}

static enum kf_code export_rows(struct job *job, const struct run *run,
				const char **name, size_t count,
				struct kf_err *err)
{
	enum kf_code code = KF_OK;
	const json_t *row;
	size_t i;

	json_array_foreach(run->problems, i, row) {
		char *dir = dir_of(job, run, row, count);

		if (!code && is_wanted(row, name, count))
			code = export_row(job, run, row, dir, err);
		free(dir);
	}
	return code;
}

/* Another machine judged, and this one lacks the device. */
static enum kf_code fail_elsewhere(const struct run *run, struct kf_err *err)
{
	const struct kf_err why = *err;

	return kf_fail(err, why.code, "run %s was judged on another machine, "
		       "and what is exported is built for a device that is "
		       "there: copy the run's folder to a machine that has "
		       "one, and export it from there (here: %.300s)",
		       run->dir, why.text);
}

static enum kf_code from_run(struct job *job, const char *run_dir,
			     const char **name, size_t count,
			     struct kf_err *err)
{
	struct kf_settings settings = { 0 };
	struct run run = { .dir = run_dir };
	struct kf_setup_spec *spec = &settings.spec.setup;
	bool was_away = false;
	enum kf_code code;

	code = kf_store_open(run_dir, KF_STORE_READ, &run.store, err);
	if (!code)
		code = kf_store_settings(run.store, &run.settings, err);
	if (!code)
		code = kf_store_problems(run.store, &run.problems, err);
	if (!code)
		code = kf_settings_to_spec(run.settings, &settings, err);
	if (!code)
		code = check_rows(job, &run, name, count, err);
	if (code)
		goto out;
	run.strict = settings.spec.rules == KF_RULES_KFORGE;
	was_away = spec->away != NULL;
	spec->away = NULL;	/* what is exported is built here */
	spec->baseline = KF_BASELINE_NONE;
	spec->log = job->log;
	spec->cancel = kf_cli_cancel();
	if (job->options->python)
		spec->python = job->options->python;
	if (job->options->cache)
		spec->cache_path = job->options->cache;
	code = kf_setup_open(spec, &job->setup, err);
	if (code == KF_E_UNAVAIL && was_away)
		code = fail_elsewhere(&run, err);
	if (!code)
		code = export_rows(job, &run, name, count, err);
	/* It borrows from the settings. */
	kf_setup_release(&job->setup);
out:
	kf_settings_release(&settings);
	json_decref(run.problems);
	json_decref(run.settings);
	kf_store_close(run.store);
	return code;
}

/* --- the command --------------------------------------------------------- */

static enum kf_code check_options(const struct kf_options *options,
				  struct kf_err *err)
{
	if (!options->as)
		return kf_fail(err, KF_E_INPUT, "export as what? Say --as c or "
			       "--as torch; for CUDA also --as cuda");
	if (!options->out)
		return kf_fail(err, KF_E_INPUT, "where to? Say --out DIR");
	return KF_OK;
}

static enum kf_code export_from(struct job *job, const char **argument,
				size_t count, struct kf_err *err)
{
	char *run_dir = NULL;
	enum kf_code code = check_options(job->options, err);

	if (code)
		return code;
	if (!kf_cli_run_dir(argument[0], &run_dir, NULL))
		code = from_run(job, run_dir, argument + 1, count - 1, err);
	else if (count > 1 && job->options->shape)
		code = kf_fail(err, KF_E_INPUT, "--shape is for runs that were "
			       "judged on several; say --size or --set");
	else if (count > 1)
		code = from_files(job, argument, count, err);
	else
		code = kf_fail(err, KF_E_INPUT, "%s is not a run; for a "
			       "problem, name the program's file behind it",
			       argument[0]);
	free(run_dir);
	return code;
}

static int export(const struct kf_options *options, const char **argument,
		  size_t argument_count)
{
	struct job job = { .options = options, .done = json_array() };
	struct kf_err err = { 0 };
	struct kf_log log;
	enum kf_code code;

	kf_cli_log(options, &log);
	kf_cli_catch_signals();
	job.log = &log;
	code = export_from(&job, argument, argument_count, &err);
	if (options->json && !code)
		kf_cli_print_json_take(json_pack("{s:O}", "exports",
						 job.done));
	json_decref(job.done);
	kf_setup_release(&job.setup);
	return code ? kf_cli_fail(&err) : job.status;
}

const struct kf_command kf_command_export = {
	.name = "export",
	.arguments = "RUN [PROBLEM...] | PROBLEM FILE...",
	.summary = "a verified program as a C library, a PyTorch module or sources for nvcc",
	.options = "as out shape portable unverified platform set size dtype threads sandbox "
		   "python cache json quiet verbose help",
	.argument_min = 1,
	.argument_max = 64,
	.run = export,
};
