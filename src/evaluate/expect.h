/*
 * expect.h - what an output is to be compared with: a case's expected values in
 * the words of compare.h.
 */
#ifndef KF_EVALUATE_EXPECT_H
#define KF_EVALUATE_EXPECT_H

#include "evaluate/compare.h"
#include "problem/problem.h"

/* For output i of the bundle, got; without typical and poison. */
struct kf_compare_request kf_expect(const struct kf_bundle *bundle,
				    const struct kf_case *kase, size_t i,
				    const void *got);

/* Output i of a case by kforge's rule or KernelBench's, however the bundle
 * keeps what is expected. */
void kf_expect_compare(const struct kf_case *kase, size_t i,
		       const struct kf_compare_request *req,
		       bool by_kernelbench, struct kf_compare *out);

#endif
