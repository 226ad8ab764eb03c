/* The list of all kinds of problems. */
#include "cproblem/cproblem.h"

static const struct kf_problem_table problem_c = {
	.claims = kf_cproblem_claims,
	.read = kf_cproblem_read,
	.open = kf_cproblem_bundle,
	.start = kf_cproblem_baseline,
	.describe = kf_cproblem_describe,
	.files = kf_cproblem_files,
	.presets = kf_cproblem_presets,
};

const struct kf_problem_table *const kf_problem_tables[KF_PROBLEM_KINDS] = {
	[KF_PROBLEM_PYTHON] = &kf_problem_python,
	[KF_PROBLEM_C] = &problem_c,
};
