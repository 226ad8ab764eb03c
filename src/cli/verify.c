/* kforge verify: judge one candidate written by anyone. */
#include <unistd.h>

#include "cli/cli.h"

/* Everything that one judgement holds. */
struct verify {
	struct kf_setup setup;
	struct kf_target target;
	struct kf_candidate candidate;
	struct kf_verdict verdict;
	struct kf_temporary scratch;	/* removed at the end */
};

static enum kf_code judge(struct verify *v, const struct kf_options *options,
			  struct kf_err *err)
{
	struct kf_job job = {
		.platform = (char *)(uintptr_t)options->platform,
		.rules = options->rules,
		.baseline = options->baseline,
		.seed = options->seed,
		.calls = options->calls,
		.stop_after = options->stop_after,
		.threads = options->threads,
		.sandbox = options->sandbox,
	};
	struct kf_job_spec spec = {
		.setup = &v->setup,
		.target = &v->target,
		.job = &job,
		.candidate = &v->candidate,
	};
	enum kf_code code = kf_cli_scratch("verify", &v->scratch, err);

	spec.folder = v->scratch.path;
	return code ? code : kf_job_do(&spec, &v->verdict, err);
}

static void print_json(const struct verify *v)
{
	json_t *json = kf_verdict_to_json(&v->verdict);

	json_object_set_new(json, "problem",
			    json_string(v->target.problem.name));
	json_object_set_new(json, "platform",
			    json_string(v->setup.platform->name));
	json_object_set_new(json, "device", json_string(v->setup.device.name));
	json_object_set_new(json, "threads", json_integer(v->setup.threads));
	json_object_set_new(json, "bundle_ns",
			    json_integer((json_int_t)v->target.bundle.took_ns));
	json_object_set_new(json, "bundle_made",
			    json_boolean(v->target.bundle.made_now));
	kf_cli_print_json_take(json);
}

static void print_words(const struct verify *v)
{
	struct kf_buf words = { .max = 1u << 16 };

	if (v->candidate.note[0])
		printf("note: %s\n", v->candidate.note);
	kf_verdict_explain(&v->verdict, &words);
	fputs(kf_buf_str(&words), stdout);
	kf_buf_release(&words);
}

static enum kf_code run_stages(struct verify *v,
			       const struct kf_options *options,
			       const struct kf_log *log,
			       const char **argument, size_t argument_count,
			       struct kf_err *err)
{
	struct kf_setup_spec spec = kf_cli_setup_spec(options, log);
	enum kf_code code = kf_setup_open(&spec, &v->setup, err);

	if (!code)
		code = kf_candidate_read(argument + 1, argument_count - 1,
					 v->setup.platform, &v->candidate,
					 err);
	if (code)
		return code;
	code = kf_target_open(&v->setup, argument[0], &v->target, err);
	if (code)
		return code;
	if (v->candidate.end == KF_EXTRACT_GOOD)
		return judge(v, options, err);
	kf_generation_failure(&v->candidate, &v->verdict);
	return KF_OK;
}

static int verify(const struct kf_options *options, const char **argument,
		  size_t argument_count)
{
	struct kf_err err = { 0 }, ignored = { 0 };
	struct verify v = { 0 };
	struct kf_log log;
	enum kf_code code;
	int status;

	kf_cli_log(options, &log);
	kf_cli_catch_signals();
	code = run_stages(&v, options, &log, argument, argument_count, &err);
	if (code)
		status = kf_cli_fail(&err);
	else
		status = kf_cli_status(&v.verdict);
	if (!code && options->json)
		print_json(&v);
	else if (!code)
		print_words(&v);
	if (kf_temporary_remove(&v.scratch, &ignored))
		kf_logf(&log, KF_LOG_WARN, "%s", ignored.text);
	kf_verdict_release(&v.verdict);
	kf_candidate_release(&v.candidate);
	kf_target_release(&v.target);
	kf_setup_release(&v.setup);
	return status;
}

const struct kf_command kf_command_verify = {
	.name = "verify",
	.arguments = "PROBLEM FILE...|DIR|REPLY.md|-",
	.summary = "judge a program written by anyone: the files, a folder, a model's reply",
	.options = "platform set size dtype rules baseline calls seed stop-after "
		   "threads sandbox python cache json quiet verbose help",
	.argument_min = 2,
	.argument_max = 64,
	.run = verify,
};
