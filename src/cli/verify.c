/* kforge verify: judge one candidate written by anyone. */
#include "cli/verify.h"

#include <unistd.h>

#include "evaluate/explain.h"

/* What it computes, watched: unless there is nothing that could run. */
static enum kf_code sanitize(struct kf_verify *v, const volatile int *cancel,
			     struct kf_err *err)
{
	char *dir = kf_path_join(v->scratch.path, "sanitize");
	const volatile int *stop = cancel ? cancel :
		v->setup.problem_spec.cancel;
	struct kf_device_wait wait = kf_setup_wait(&v->setup);
	const struct kf_export_request req = {
		.form = KF_EXPORT_C,
		.platform = v->setup.platform,
		.device = &v->setup.device,
		.problem = &v->target.problem,
		.bundle = &v->target.bundle,
		.candidate = &v->candidate,
		.dir = dir,
		.verdict = "",
		.untried = true,
		.tier_min = v->setup.problem_spec.tier_min,
		.wait = &wait,
		.cancel = stop,
	};
	struct kf_found finding;
	const char *tool;
	enum kf_code code;

	wait.cancel = stop;
	code = kf_sanitize(&req, &tool, &finding, err);

	if (!code)
		kf_verdict_sanitized(&v->verdict, tool, &finding);
	(void)kf_remove_tree(dir, NULL);
	free(dir);
	return code;
}

enum kf_code kf_verify_judge(struct kf_verify *v, const volatile int *cancel,
			     struct kf_err *err)
{
	const struct kf_options *options = v->options;
	struct kf_job job = {
		.platform = v->setup.place,
		.form = kf_setup_form(&v->setup),
		.rules = options->rules,
		.libraries = options->libraries,
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
		.cancel = cancel,
	};
	enum kf_code code = KF_OK;

	if (!v->scratch.path)
		code = kf_cli_scratch("verify", &v->scratch, err);
	spec.folder = v->scratch.path;
	if (!code)
		code = kf_job_do(&spec, &v->verdict, err);
	if (!code && options->sanitize &&
	    v->verdict.state >= KF_RUNTIME_ERROR)
		code = sanitize(v, cancel, err);
	if (!code)
		kf_cli_add_hint(options, v->file, v->file_count, &v->verdict);
	return code;
}

void kf_verify_generation_failure(struct kf_verify *v)
{
	kf_generation_failure(&v->candidate, &v->verdict);
	kf_cli_add_hint(v->options, v->file, v->file_count, &v->verdict);
}

json_t *kf_verify_to_json(const struct kf_verify *v)
{
	json_t *json = kf_verdict_to_json(&v->verdict);

	json_object_set_new(json, "problem",
			    json_string(v->target.problem.name));
	json_object_set_new(json, "platform",
			    json_string(v->setup.platform->name));
	json_object_set_new(json, "device", json_string(v->setup.device.name));
	json_object_set_new(json, "device_id",
			    json_string(v->setup.device.id));
	json_object_set_new(json, "threads", json_integer(v->setup.threads));
	json_object_set_new(json, "bundle_ns",
			    json_integer((json_int_t)v->target.bundle.took_ns));
	json_object_set_new(json, "bundle_made",
			    json_boolean(v->target.bundle.made_now));
	return json;
}

void kf_verify_words(const struct kf_verify *v, struct kf_buf *out)
{
	if (v->candidate.note[0])
		kf_buf_printf(out, "note: %s\n", v->candidate.note);
	if (v->options->explain) {
		json_t *json = kf_verdict_to_json(&v->verdict);

		kf_explain(json, out);
		json_decref(json);
		return;
	}
	kf_verdict_explain(&v->verdict, out);
}

static void print_verdict(const struct kf_verify *v)
{
	struct kf_buf words = { .max = 1u << 16 };

	if (v->options->json) {
		kf_cli_print_json_take(kf_verify_to_json(v));
		return;
	}
	kf_verify_words(v, &words);
	fputs(kf_buf_str(&words), stdout);
	kf_buf_release(&words);
}

enum kf_code kf_verify_picture(const struct kf_verify *v, struct kf_err *err)
{
	json_t *json;
	enum kf_code code;

	if (!v->options->picture)
		return KF_OK;
	json = kf_verdict_to_json(&v->verdict);
	code = kf_cli_picture(json, v->options->picture, err);
	json_decref(json);
	return code;
}

static bool comes_to_times(const struct kf_options *options)
{
	return options->stop_after == KF_REACH_NONE ||
		options->stop_after == KF_REACH_TIME;
}

static enum kf_code open_all(struct kf_verify *v, const char *problem,
			     struct kf_err *err)
{
	struct kf_setup_spec spec = kf_cli_setup_spec(v->options, v->log);

	/* The reference need not run for it. */
	if (!comes_to_times(v->options) && spec.baseline == KF_BASELINE_LIVE)
		spec.baseline = KF_BASELINE_NONE;
	if (v->options->watch && strcmp(v->file[0], "-") == 0)
		return kf_fail(err, KF_E_INPUT, "--watch needs files: standard "
			       "input is read only once");
	return kf_cli_open(v->options, &spec, problem,
			   &(struct kf_cli_programs) {
		.path = v->file, .count = 1, .path_count = v->file_count,
		.candidate = &v->candidate,
	}, &v->setup, &v->target, err);
}

static enum kf_code judge_once(struct kf_verify *v, int *status,
			       struct kf_err *err)
{
	enum kf_code code = KF_OK;

	if (v->candidate.end == KF_EXTRACT_GOOD)
		code = kf_verify_judge(v, NULL, err);
	else
		kf_verify_generation_failure(v);
	if (code)
		return code;
	kf_verdict_set_health(&v->verdict, kf_target_health(&v->target));
	*status = kf_cli_status(&v->verdict);
	print_verdict(v);
	return kf_verify_picture(v, err);
}

static int verify(const struct kf_options *options, const char **argument,
		  size_t argument_count)
{
	struct kf_err err = { 0 }, ignored = { 0 };
	struct kf_log log;
	struct kf_verify v = {
		.options = options, .log = &log,
		.file = argument + 1, .file_count = argument_count - 1,
	};
	int status = KF_EXIT_GOOD;
	enum kf_code code;

	kf_cli_log(options, &log);
	kf_cli_catch_signals();
	code = open_all(&v, argument[0], &err);
	if (!code && options->watch)
		code = kf_verify_watch(&v, &status, &err);
	else if (!code)
		code = judge_once(&v, &status, &err);
	if (code)
		status = kf_cli_fail(&err);
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
	.options = "platform form set size dtype shapes rules libraries "
		   "baseline calls seed stop-after threads sandbox python "
		   "cache watch explain picture sanitize json "
		   "quiet verbose help",
	.argument_min = 2,
	.argument_max = 64,
	.run = verify,
};
