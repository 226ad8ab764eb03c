/* kforge prompt: exactly what would be sent first. */
#include <math.h>

#include "cli/cli.h"

static enum kf_code print_prompt(const struct kf_options *options,
				 const struct kf_prompt_request *req,
				 struct kf_err *err)
{
	struct kf_prompt prompt = { 0 };
	enum kf_code code;

	if (options->context) {
		kf_cli_print_json_take(kf_prompt_context(req));
		return KF_OK;
	}
	code = kf_prompt_make(req, &prompt, err);
	if (!code && options->json)
		kf_cli_print_json_take(json_pack("{s:s, s:s, s:I}",
			"system", kf_buf_str(&prompt.system_text),
			"user", kf_buf_str(&prompt.user_text),
			"tokens_estimate", (json_int_t)kf_tokens_estimate(
				prompt.system_text.len +
				prompt.user_text.len)));
	else if (!code)
		printf("%s\n\n%s\n", kf_buf_str(&prompt.system_text),
		       kf_buf_str(&prompt.user_text));
	kf_prompt_release(&prompt);
	return code;
}

static int prompt(const struct kf_options *options, const char **argument,
		  size_t argument_count)
{
	struct kf_setup_spec spec;
	struct kf_prompt_request req = {
		.prompts_dir = options->prompts,
		.attempt = 1,
		.attempt_max = (unsigned)options->attempts,
		.target_speedup = options->target,
		.no_libraries = options->libraries == KF_LIBRARIES_REFUSE,
	};
	struct kf_prompt_shape shape[KF_PROMPT_SHAPES];
	struct kf_target target = { 0 };
	struct kf_setup setup = { 0 };
	struct kf_err err = { 0 };
	struct kf_log log;
	enum kf_code code;

	(void)argument_count;
	kf_cli_log(options, &log);
	kf_cli_catch_signals();
	spec = kf_cli_setup_spec(options, &log);
	spec.baseline = KF_BASELINE_NONE;
	spec.measure = true;
	code = kf_cli_open(options, &spec, argument[0], NULL, &setup, &target,
			   &err);
	req.platform = setup.platform;
	req.device = &setup.device;
	req.problem = &target.problem;
	req.bundle = &target.bundle;
	req.shape = shape;
	req.shape_count = kf_loop_shapes(&target, shape);
	if (!code)
		code = print_prompt(options, &req, &err);
	kf_target_release(&target);
	kf_setup_release(&setup);
	return code ? kf_cli_fail(&err) : KF_EXIT_GOOD;
}

const struct kf_command kf_command_prompt = {
	.name = "prompt",
	.arguments = "PROBLEM",
	.summary = "show what would be sent to the model, and send nothing",
	.options = "platform form set size dtype shapes libraries prompts context attempts target "
		   "threads sandbox python cache json quiet verbose help",
	.argument_min = 1,
	.argument_max = 1,
	.run = prompt,
};
