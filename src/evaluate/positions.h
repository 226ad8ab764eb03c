/*
 * positions.h - outputs that say where the largest or the smallest element of
 * an input stands, as argmax gives them: where several are equal, each of their
 * positions is right.
 *
 * That an output is one is not declared: it must follow from the bundle. An
 * input and an axis are looked for where, in every set, each of the reference's
 * numbers is the position of an extreme element along that axis; and data where
 * any position is one (all zeros, say) prove nothing: by chance it must be
 * rarer than 2^-64.
 *
 * Only one position of each row is known, not several in order (topk, sort):
 * there a number that comes twice would have to be told from two that tie.
 */
#ifndef KF_EVALUATE_POSITIONS_H
#define KF_EVALUATE_POSITIONS_H

#include "problem/problem.h"

/* What is known of an output; {0} before it was asked for. */
struct kf_positions {
	bool looked, found;
	bool largest;		/* else smallest */
	size_t in;		/* of this input, along this axis */
	int axis;
};

/* got with the expected position in the place of each that is as right, to be
 * compared; the caller frees it. NULL: the output is not of that kind, or the
 * bundle is condensed. Looks at all sets the first time. */
void *kf_positions_settled(struct kf_positions *positions,
			   const struct kf_bundle *bundle,
			   const struct kf_case *kase, size_t out,
			   const void *got);

#endif
