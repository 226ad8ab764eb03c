/* kforge run and kforge resume. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/paths.h"
#include "cli/progress.h"
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

#define RUNS_DIR "kforge-runs"
#define SAME_SECOND_MAX 100	/* runs begun in one second */

/* Makes the folder name, or name-2 and so on where another run has it. */
static enum kf_code claim_folder(const char *name, char **out,
				 struct kf_err *err)
{
	enum kf_code code = kf_mkdir_p(RUNS_DIR, err);

	*out = NULL;
	for (int i = 1; !code && i <= SAME_SECOND_MAX; i++) {
		*out = i == 1 ? kf_format(RUNS_DIR "/%s", name) :
		       kf_format(RUNS_DIR "/%s-%d", name, i);
		if (mkdir(*out, 0777) == 0)
			return KF_OK;
		code = errno == EEXIST && i < SAME_SECOND_MAX ? KF_OK :
		       kf_fail_errno(err, "cannot make folder %s", *out);
		free(*out);
		*out = NULL;
	}
	return code;
}

/* kforge-runs/20261127-101500-softmax */
static enum kf_code default_run_dir(const struct kf_paths *paths, char **out,
				    struct kf_err *err)
{
	const char *first = paths->count ? paths->path[0] : "run";
	const char *slash = strrchr(first, '/');
	const char *stem = slash ? slash + 1 : first;
	int len = (int)strcspn(stem, ".");
	time_t now = time(NULL);
	char date[32];
	struct tm local;
	enum kf_code code;
	char *name;

	localtime_r(&now, &local);
	strftime(date, sizeof(date), "%Y%m%d-%H%M%S", &local);
	name = paths->count > 1 ?
	       kf_format("%s-%zu-problems", date, paths->count) :
	       kf_format("%s-%.*s", date, len, stem);
	code = claim_folder(name, out, err);
	if (code)
		kf_advise(err, "--out DIR names another place");
	free(name);
	return code;
}

/* --- --dry-run ------------------------------------------------------------ */

static enum kf_code first_prompt_tokens(const struct kf_run_spec *spec,
					const struct kf_setup *setup,
					const char *path, uint64_t *tokens,
					struct kf_err *err)
{
	struct kf_prompt_request req = {
		.platform = setup->platform,
		.device = &setup->device,
		.prompts_dir = spec->prompts_dir,
		.attempt = 1,
		.attempt_max = spec->attempt_max,
		.target_speedup = spec->target_speedup,
	};
	struct kf_prompt_shape shape[KF_PROMPT_SHAPES];
	struct kf_target target = { 0 };
	struct kf_prompt prompt = { 0 };
	enum kf_code code = kf_target_open(setup, path, &target, err);

	req.problem = &target.problem;
	req.bundle = &target.bundle;
	req.shape = shape;
	req.shape_count = kf_loop_shapes(&target, shape);
	if (!code && !spec->force)
		code = kf_target_healthy(&target, err);
	if (!code)
		code = kf_prompt_make(&req, &prompt, err);
	if (!code)
		*tokens = kf_tokens_estimate(prompt.system_text.len +
					     prompt.user_text.len);
	kf_prompt_release(&prompt);
	kf_target_release(&target);
	return code;
}

/* Later prompts also carry a program and what was wrong with it: they are
 * counted as the first prompt and one more reply. */
static int dry_run(const struct kf_run_spec *spec)
{
	uint64_t reply = spec->token_max ? spec->token_max : KF_REPLY_TOKENS;
	/* Before each attempt but the first, asked twice at most. */
	uint64_t advised = kf_loop_asks_advisor(spec) ?
			   2 * (spec->attempt_max - 1) : 0;
	struct kf_setup_spec setup_spec = spec->setup;
	struct kf_setup setup = { 0 };
	struct kf_err err = { 0 };
	uint64_t calls = 0, ceiling = 0;
	enum kf_code code;

	kf_cli_catch_signals();
	setup_spec.baseline = KF_BASELINE_NONE;
	code = kf_setup_open(&setup_spec, &setup, &err);
	for (size_t i = 0; !code && i < spec->problem_count; i++) {
		uint64_t first = 0;

		code = first_prompt_tokens(spec, &setup, spec->problem[i],
					   &first, &err);
		if (spec->problem_count > 1 &&
		    (code == KF_E_INPUT || code == KF_E_LIMIT)) {
			fprintf(stderr, "kforge: %s; left out\n", err.text);
			code = KF_OK;
			continue;
		}
		calls += spec->attempt_max + advised;
		ceiling += (spec->attempt_max + advised) * (first + reply) +
			   (spec->attempt_max - 1 + advised) * reply;
		if (!code)
			printf("%s: first prompt about %llu tokens\n",
			       spec->problem[i], (unsigned long long)first);
	}
	kf_setup_release(&setup);
	if (code)
		return kf_cli_fail(&err);
	if (spec->budget_tokens && spec->budget_tokens < ceiling)
		ceiling = spec->budget_tokens;
	printf("at most %llu calls and %llu tokens; nothing was asked\n",
	       (unsigned long long)calls, (unsigned long long)ceiling);
	return KF_EXIT_GOOD;
}

/* --- running -------------------------------------------------------------- */

static void say_how_to_go_on(const char *run_dir)
{
	char *quoted = kf_cli_quote(run_dir);

	fprintf(stderr, "kforge: go on with: kforge resume %s\n", quoted);
	free(quoted);
}

static int work(const struct kf_run_spec *spec, bool resume,
		const struct kf_options *options)
{
	struct kf_progress progress;
	struct kf_watch watch = { kf_progress_event, &progress };
	struct kf_run_summary summary = { 0 };
	struct kf_err err = { 0 };
	enum kf_code code;

	kf_progress_init(&progress, options->quiet);
	kf_cli_catch_signals();
	code = kf_loop_run(spec, resume, &watch, &summary, &err);
	kf_progress_end(&progress);
	if (code) {
		int status = kf_cli_fail(&err);

		if (summary.problem_count)
			say_how_to_go_on(spec->run_dir);
		return status;
	}
	code = kf_cli_report(spec->run_dir, options->json, &err);
	if (code)
		return kf_cli_fail(&err);
	if (!options->quiet)
		fprintf(stderr, "%u %s, %llu tokens; the run is in %s\n",
			summary.asked_count,
			summary.asked_count == 1 ? "reply" : "replies",
			(unsigned long long)summary.tokens, spec->run_dir);
	return summary.correct_count &&
	       summary.correct_count + summary.unhealthy_count ==
	       summary.problem_count ? KF_EXIT_GOOD : KF_EXIT_NOT_ALL;
}

static struct kf_run_spec spec_from(const struct kf_options *options,
				    const struct kf_log *log)
{
	return (struct kf_run_spec) {
		.setup = kf_cli_setup_spec(options, log),
		.model = options->model,
		.advisor = options->advisor ? options->advisor : "rules",
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
		.seed = options->seed,
		.call_count_fixed = (unsigned)options->calls,
		.force = options->force,
	};
}

/* A name that was mistyped is told before a bundle is made. */
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

static int run(const struct kf_options *options, const char **argument,
	       size_t argument_count)
{
	struct kf_paths problems = { 0 }, start = { 0 };
	char *run_dir = NULL, *prompts = NULL, *record = NULL, *model = NULL;
	char *python = NULL, *cache = NULL, *away = NULL, *advisor = NULL;
	struct kf_err err = { 0 };
	struct kf_run_spec spec;
	struct kf_log log;
	int status;

	kf_cli_log(options, &log);
	spec = spec_from(options, &log);
	if (!spec.model && !options->dry_run) {
		kf_fail(&err, KF_E_INPUT, "--model is missing: name one, such "
			"as --model openai:NAME; `kforge models` lists the "
			"kinds");
		return kf_cli_fail(&err);
	}
	if (kf_away_folder(options->executor, &away, &err))
		return kf_cli_fail(&err);
	if (away && options->dry_run) {
		free(away);
		kf_fail(&err, KF_E_INPUT, "--dry-run does not go with "
			"--executor folder: shapes are known on the other "
			"machine only");
		return kf_cli_fail(&err);
	}
	spec.setup.away = away;
	if (kf_cli_open_shapes(options, &spec.setup, &err)) {
		free(away);
		return kf_cli_fail(&err);
	}
	for (size_t i = 0; i < argument_count; i++) {
		if (kf_paths_add_problems(&problems, argument[i], &err)) {
			status = kf_cli_fail(&err);
			goto out;
		}
	}
	if (add_start(&start, &options->start, &err)) {
		status = kf_cli_fail(&err);
		goto out;
	}
	if (options->out)
		run_dir = kf_strdup(options->out);
	else if (!options->dry_run &&
		 default_run_dir(&problems, &run_dir, &err)) {
		status = kf_cli_fail(&err);
		goto out;
	}
	if (options->prompts)
		prompts = kf_path_absolute(options->prompts);
	record = options->record ? kf_path_absolute(options->record) : NULL;
	cache = options->cache ? kf_path_absolute(options->cache) : NULL;
	python = absolute_program(options->python);
	model = absolute_model(options->model);
	advisor = absolute_model(spec.advisor);
	spec.setup.cache_path = cache;
	spec.setup.python = python;
	spec.model = model;
	spec.advisor = advisor;
	spec.run_dir = run_dir;
	spec.problem = (const char *const *)problems.path;
	spec.problem_count = problems.count;
	spec.start = (const char *const *)start.path;
	spec.start_count = start.count;
	spec.prompts_dir = prompts;
	spec.record_path = record;
	spec.setup.measure = true;
	status = options->dry_run ? dry_run(&spec) :
		 work(&spec, false, options);
out:
	kf_cli_close_shapes(&spec.setup);
	free(away);
	free(python);
	free(cache);
	free(model);
	free(advisor);
	free(record);
	free(prompts);
	free(run_dir);
	kf_paths_release(&start);
	kf_paths_release(&problems);
	return status;
}

static int resume(const struct kf_options *options, const char **argument,
		  size_t argument_count)
{
	struct kf_run_spec spec = { .model = options->model,
				    .advisor = options->advisor };
	struct kf_err err = { 0 };
	char *run_dir = NULL;
	struct kf_log log;
	int status;

	kf_cli_log(options, &log);
	if (kf_cli_run_dir(argument_count ? argument[0] : NULL, &run_dir,
			   &err)) {
		free(run_dir);
		return kf_cli_fail(&err);
	}
	spec.run_dir = run_dir;
	spec.setup.log = &log;
	spec.setup.cancel = kf_cli_cancel();
	spec.setup.measure = true;
	status = work(&spec, true, options);
	free(run_dir);
	return status;
}

const struct kf_command kf_command_run = {
	.name = "run",
	.arguments = "PROBLEM... --model NAME",
	.summary = "the main job: ask a model, judge programs, keep the best",
	.options = "platform form model advisor profile attempts target out "
		   "start set size dtype "
		   "shapes record prompts temperature max-tokens budget-tokens "
		   "reply-timeout dry-run force "
		   "rules baseline calls seed threads sandbox python cache "
		   "executor "
		   "json quiet verbose help",
	.argument_min = 1,
	.argument_max = KF_PROBLEMS_MAX,
	.run = run,
};

const struct kf_command kf_command_resume = {
	.name = "resume",
	.arguments = "[RUN]",
	.summary = "go on with a run that was stopped (default: the latest)",
	.options = "model advisor json quiet verbose help",
	.argument_max = 1,
	.run = resume,
};
