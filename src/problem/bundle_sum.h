/*
 * bundle_sum.h - was a bundle altered since it was made? A sum over the data of
 * all its files lies beside them. It is against disks that forget, not against
 * people. Inner header of src/problem.
 */
#ifndef KF_PROBLEM_BUNDLE_SUM_H
#define KF_PROBLEM_BUNDLE_SUM_H

#include "problem/problem.h"

/* Writes the sum of a bundle that was loaded from its folder. */
KF_MUST_CHECK enum kf_code kf_bundle_sum_write(const struct kf_bundle *bundle,
					       struct kf_err *err);

#endif
