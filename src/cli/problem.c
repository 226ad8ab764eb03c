/* kforge problem: what can be done with problems alone, each in its file. */
#include "cli/cli.h"

static const struct kf_command *const sub[] = {
	&kf_command_problem_new, &kf_command_problem_check,
	&kf_command_problem_show, NULL,
};

const struct kf_command kf_command_problem = {
	.name = "problem",
	.arguments = "COMMAND",
	.summary = "problems alone: begin one, check it, look at it",
	.options = "help",
	.sub = sub,
};
