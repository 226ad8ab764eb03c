/* kforge run and kforge resume. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/run_spec.h"

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
		.no_libraries = spec->libraries == KF_LIBRARIES_REFUSE,
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
	uint64_t advised = kf_cli_run_advised(spec, spec->attempt_max,
					      spec->start_count > 0);
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

/* Where the run goes: nowhere if nothing is asked. Caller frees. */
static enum kf_code choose_run_dir(const struct kf_options *options,
				   const struct kf_paths *problems, char **out,
				   struct kf_err *err)
{
	*out = kf_strdup(options->out);
	return *out || options->dry_run ? KF_OK :
	       default_run_dir(problems, out, err);
}

static enum kf_code check_asked(const struct kf_options *options,
				const struct kf_run_spec *spec,
				struct kf_err *err)
{
	if (spec->setup.away && options->dry_run)
		return kf_fail(err, KF_E_INPUT, "--dry-run does not go with "
			       "--executor folder: shapes are known on the "
			       "other machine only");
	return KF_OK;
}

static int run(const struct kf_options *options, const char **argument,
	       size_t argument_count)
{
	struct kf_cli_run made = { 0 };
	struct kf_err err = { 0 };
	char *run_dir = NULL;
	struct kf_log log;
	enum kf_code code = KF_OK;
	int status;

	kf_cli_log(options, &log);
	if (!options->model && !options->dry_run)
		code = kf_fail(&err, KF_E_INPUT, "--model is missing: name "
			       "one, such as --model openai:NAME; `kforge "
			       "models` lists the kinds");
	if (!code)
		code = kf_cli_run_open(options, argument, argument_count, &log,
				       &made, &err);
	if (!code)
		code = check_asked(options, &made.spec, &err);
	if (!code)
		code = choose_run_dir(options, &made.problems, &run_dir, &err);
	made.spec.run_dir = run_dir;
	if (code)
		status = kf_cli_fail(&err);
	else
		status = options->dry_run ? dry_run(&made.spec) :
			 work(&made.spec, false, options);
	free(run_dir);
	kf_cli_run_release(&made);
	return status;
}

static int resume(const struct kf_options *options, const char **argument,
		  size_t argument_count)
{
	struct kf_run_spec spec = { .model = options->model,
				    .advisor = options->advisor,
				    .rejudge_count = (unsigned)options->rejudge,
	};
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
	.options = "platform form model advisor advisor-sees profile hide attempts target out "
		   "start set size dtype "
		   "shapes record prompts temperature max-tokens budget-tokens "
		   "reply-timeout dry-run force "
		   "rules libraries baseline calls seed rejudge threads "
		   "sandbox python cache executor "
		   "json quiet verbose help",
	.argument_min = 1,
	.argument_max = KF_PROBLEMS_MAX,
	.run = run,
};

const struct kf_command kf_command_resume = {
	.name = "resume",
	.arguments = "[RUN]",
	.summary = "go on with a run that was stopped (default: the latest)",
	.options = "model advisor rejudge json quiet verbose help",
	.argument_max = 1,
	.run = resume,
};
