/* What is constant about each kind of problem. */
#include "problem/problem.h"

static const struct {
	const char *name, *baseline, *baseline_words;
} fact[KF_PROBLEM_KINDS] = {
	[KF_PROBLEM_PYTHON] = { "python", "eager", "PyTorch eager" },
	[KF_PROBLEM_C] = { "c", "reference", "reference" },
};

const char *kf_problem_kind_name(enum kf_problem_kind kind)
{
	return fact[kind].name;
}

enum kf_problem_kind kf_problem_kind_by_name(const char *name)
{
	for (size_t i = 0; i < KF_COUNT(fact); i++)
		if (strcmp(fact[i].name, name) == 0)
			return (enum kf_problem_kind)i;
	return KF_PROBLEM_PYTHON;
}

const char *kf_problem_baseline(enum kf_problem_kind kind)
{
	return fact[kind].baseline;
}

const char *kf_problem_baseline_words(enum kf_problem_kind kind)
{
	return fact[kind].baseline_words;
}
