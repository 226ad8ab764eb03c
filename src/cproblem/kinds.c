/* The list of all kinds of problems. */
#include "problem/kind.h"

const struct kf_problem_table *const kf_problem_tables[KF_PROBLEM_KINDS] = {
	[KF_PROBLEM_PYTHON] = &kf_problem_python,
};
