/*
 * eager.h - the baseline of a Python problem: its reference in eager PyTorch.
 * Inner header of src/problem; kf_baseline_* are in problem.h.
 */
#ifndef KF_PROBLEM_EAGER_H
#define KF_PROBLEM_EAGER_H

#include "problem/problem.h"

/* Begins to start the process; see kf_baseline_start. */
KF_MUST_CHECK enum kf_code kf_eager_start(const struct kf_problem_spec *spec,
		const struct kf_problem *problem,
		const struct kf_bundle *bundle,
		struct kf_baseline_process **out, struct kf_err *err);

#endif
