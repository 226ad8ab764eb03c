/*
 * case.h - the inputs of a case, however a bundle keeps them. Where it keeps
 * all data they are copied; a condensed one's are made of its kept inputs
 * (docs/bundles.md, "Condensed bundles"), on all processors; or a device makes
 * the same (src/platform/cuda/fresh.c).
 */
#ifndef KF_PROBLEM_CASE_H
#define KF_PROBLEM_CASE_H

#include "problem/problem.h"

/* Input i, all of it. An empty slot does nothing. */
void kf_case_input(const struct kf_bundle *bundle, const struct kf_case *kase,
		   size_t i, void *to);
/* Its elements from first on. */
void kf_case_input_part(const struct kf_bundle *bundle,
			const struct kf_case *kase, size_t i, int64_t first,
			int64_t count, void *to);
/* Does data hold input i? If not, *byte is the first one that differs. */
bool kf_case_input_is(const struct kf_bundle *bundle,
		      const struct kf_case *kase, size_t i, const void *data,
		      int64_t *byte);

/* Are the elements from *from on of each *row of them raised, to 8 times what
 * they were made as? */
bool kf_case_tail(const struct kf_bundle *bundle, const struct kf_case *kase,
		  size_t i, int64_t *row, int64_t *from);

#endif
