/* kforge problem: what can be done with problems alone, each in its file. */
#include "cli/cli.h"

static const struct kf_command *const sub[] = {
	&kf_command_problem_check, NULL,
};

const struct kf_command kf_command_problem = {
	.name = "problem",
	.arguments = "COMMAND",
	.summary = "problems alone: are they fit to be worked on",
	.options = "help",
	.sub = sub,
};
