/*
 * trivial.h - answers that take no work: what they are, and whether the judge
 * would let them pass. Part of health.c; pure.
 */
#ifndef KF_EVALUATE_TRIVIAL_H
#define KF_EVALUATE_TRIVIAL_H

#include "problem/problem.h"

struct kf_trivial {
	const char *name;	/* stable token: "zeros" */
	const char *words;	/* "all zeros" */
	bool across_sets;	/* says something with two sets or more only */
	bool weak;		/* follows from the output's not depending on
				   the inputs */
};

/* By how telling they are as a reason. The last entry has a NULL name. */
extern const struct kf_trivial kf_trivials[];
#define KF_TRIVIAL_COPY 6	/* place of the copy of an input */

/* One answer for one output of one set. */
struct kf_trivial_case {
	const struct kf_bundle *bundle;
	const struct kf_case *set;
	size_t out;
	size_t trivial;		/* index into kf_trivials */
	size_t input;		/* for the copy: of which input */
};

/* Is there such an answer? There is no copy of an input of another shape, and
 * a mean says nothing about a single number. */
bool kf_trivial_applies(const struct kf_trivial_case *c);

/* Would it be judged correct, by our rules or by KernelBench's? */
bool kf_trivial_passes(const struct kf_trivial_case *c, bool kernelbench);

#endif
