/* kforge problem check: is a problem fit to be worked on? */
#include "cli/cli.h"

static void print_idle(const char *what, const struct kf_tensor_info *info,
		       size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (info[i].dtype && !info[i].matters)
			printf("  %s %s does not matter\n", what,
			       info[i].name);
}

static enum kf_code check_one(const struct kf_setup *setup, const char *path,
			      struct kf_err *err)
{
	struct kf_target target = { 0 };
	enum kf_code code = kf_target_open(setup, path, &target, err);

	if (!code) {
		printf("%s: can be judged\n", target.problem.name);
		print_idle("input", target.bundle.in, target.bundle.in_count);
		print_idle("weight", target.bundle.weight,
			   target.bundle.weight_count);
	}
	kf_target_release(&target);
	return code;
}

static int check(const struct kf_options *options, const char **argument,
		 size_t argument_count)
{
	struct kf_setup setup = { 0 };
	struct kf_err err = { 0 };
	struct kf_setup_spec spec;
	struct kf_log log;
	enum kf_code code;

	kf_cli_log(options, &log);
	kf_cli_catch_signals();
	spec = kf_cli_setup_spec(options, &log);
	spec.baseline = KF_BASELINE_NONE;
	code = kf_setup_open(&spec, &setup, &err);
	for (size_t i = 0; i < argument_count && !code; i++)
		code = check_one(&setup, argument[i], &err);
	kf_setup_release(&setup);
	return code ? kf_cli_fail(&err) : KF_EXIT_GOOD;
}

const struct kf_command kf_command_problem_check = {
	.name = "problem check",
	.arguments = "PROBLEM...",
	.summary = "can programs for it be judged, and what does not matter",
	.options = "set size dtype threads sandbox python cache quiet "
		   "verbose help",
	.argument_min = 1,
	.argument_max = 4096,
	.run = check,
};
