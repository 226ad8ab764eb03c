/*
 * bundle_python.h - the bundle of a Python problem, made by reference.py.
 * Inner header of src/problem; kf_bundle_open is in problem.h.
 */
#ifndef KF_PROBLEM_BUNDLE_PYTHON_H
#define KF_PROBLEM_BUNDLE_PYTHON_H

#include "problem/problem.h"

KF_MUST_CHECK enum kf_code kf_bundle_python(const struct kf_problem_spec *spec,
		const struct kf_problem *problem, struct kf_bundle *out,
		struct kf_err *err);

#endif
