#include "cli/run_spec.h"

#include "executor/away.h"

/* A bare name is looked up on PATH each time. Links stay, for a Python finds
 * its modules by the name it is called by. */
static char *absolute_program(const char *name)
{
	char *here, *full;

	if (!name || !strchr(name, '/') || name[0] == '/')
		return kf_strdup(name);
	here = realpath(".", NULL);
	full = here ? kf_path_join(here, name) : kf_strdup(name);
	free(here);
	return full;
}

static char *absolute_model(const char *name)
{
	char *full, *result;
	const char *path;

	if (!name || !kf_model_path(name, &path))
		return kf_strdup(name);
	full = kf_path_absolute(path);
	result = kf_format("%.*s%s", (int)(path - name), name, full);
	free(full);
	return result;
}

static struct kf_run_spec spec_from(const struct kf_options *options,
				    const struct kf_log *log)
{
	return (struct kf_run_spec) {
		.setup = kf_cli_setup_spec(options, log),
		.model = options->model,
		.advisor = options->advisor ? options->advisor : "rules",
		.advisor_sees = options->advisor_sees,
		.profile = options->profile ? options->profile : "auto",
		.start = options->start.text,
		.start_count = options->start.count,
		.attempt_max = (unsigned)options->attempts,
		.target_speedup = options->target,
		.temperature = options->temperature,
		.token_max = (unsigned)options->max_tokens,
		.budget_tokens = options->budget_tokens,
		.ask_timeout_ns = (uint64_t)(options->reply_timeout_s * 1e9),
		.rules = (enum kf_rules)options->rules,
		.libraries = (enum kf_libraries)options->libraries,
		.seed = options->seed,
		.call_count_fixed = (unsigned)options->calls,
		.force = options->force,
		.rejudge_count = (unsigned)options->rejudge,
	};
}

static enum kf_code add_start(struct kf_paths *start,
			      const struct kf_list *files, struct kf_err *err)
{
	for (size_t i = 0; i < files->count; i++) {
		if (!kf_path_exists(files->text[i]))
			return kf_fail(err, KF_E_INPUT, "--start: there is no "
				       "file %s", files->text[i]);
		kf_paths_add_take(start, kf_path_absolute(files->text[i]));
	}
	return KF_OK;
}

static enum kf_code add_problems(struct kf_paths *problems,
				 const char *const *problem, size_t count,
				 struct kf_err *err)
{
	enum kf_code code = KF_OK;

	for (size_t i = 0; !code && i < count; i++)
		code = kf_paths_add_problems(problems, problem[i], err);
	return code;
}

static enum kf_code check_seeing(const struct kf_run_spec *spec,
				 struct kf_err *err)
{
	if (!spec->advisor_sees || kf_loop_asks_advisor(spec))
		return KF_OK;
	return kf_fail(err, KF_E_INPUT, "--advisor-sees is about a model: name "
		       "it with --advisor");
}

static char *absolute_or_null(const char *path)
{
	return path ? kf_path_absolute(path) : NULL;
}

enum kf_code kf_cli_run_open(const struct kf_options *options,
			     const char *const *problem, size_t problem_count,
			     const struct kf_log *log, struct kf_cli_run *out,
			     struct kf_err *err)
{
	enum kf_code code;

	*out = (struct kf_cli_run) { .spec = spec_from(options, log) };
	code = check_seeing(&out->spec, err);
	if (!code)
		code = kf_cli_hidden(options, &out->spec.profile_hidden, err);
	if (!code)
		code = kf_away_folder(options->executor, &out->away, err);
	if (!code)
		code = kf_cli_open_shapes(options, &out->spec.setup, err);
	if (!code)
		code = add_problems(&out->problems, problem, problem_count,
				    err);
	if (!code)
		code = add_start(&out->start, &options->start, err);
	out->prompts = absolute_or_null(options->prompts);
	out->record = absolute_or_null(options->record);
	out->cache = absolute_or_null(options->cache);
	out->python = absolute_program(options->python);
	out->model = absolute_model(options->model);
	out->advisor = absolute_model(out->spec.advisor);
	out->spec.setup.away = out->away;
	out->spec.setup.cache_path = out->cache;
	out->spec.setup.python = out->python;
	out->spec.setup.measure = true;
	out->spec.model = out->model;
	out->spec.advisor = out->advisor;
	out->spec.problem = (const char *const *)out->problems.path;
	out->spec.problem_count = out->problems.count;
	out->spec.start = (const char *const *)out->start.path;
	out->spec.start_count = out->start.count;
	out->spec.prompts_dir = out->prompts;
	out->spec.record_path = out->record;
	return code;
}

void kf_cli_run_release(struct kf_cli_run *run)
{
	kf_cli_close_shapes(&run->spec.setup);
	free(run->away);
	free(run->python);
	free(run->cache);
	free(run->model);
	free(run->advisor);
	free(run->record);
	free(run->prompts);
	kf_paths_release(&run->start);
	kf_paths_release(&run->problems);
	*run = (struct kf_cli_run) { 0 };
}

uint64_t kf_cli_run_advised(const struct kf_run_spec *spec, uint64_t replies,
			    bool begun)
{
	if (!kf_loop_asks_advisor(spec) || !replies)
		return 0;
	return 2 * (replies - !begun);
}
