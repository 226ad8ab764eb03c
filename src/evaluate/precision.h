/*
 * precision.h - were operands of lower precision used? Pure.
 *
 * error is what such operands do to an output: y of rounded operands, less y.
 * A program that uses them has errors c - y that go along with it, however
 * small they are beside y; rounding errors of float32 do not. So c - y is
 * regressed on error, as a whole and in each 1,024 elements: a coefficient
 * above 0.25 with a standard error under 0.05 says that they were used.
 */
#ifndef KF_EVALUATE_PRECISION_H
#define KF_EVALUATE_PRECISION_H

#include "base/base.h"

struct kf_precision_found {
	bool used;
	double coefficient, error;	/* of the whole, or of the worst part that
					   says it; NaN if there is none */
};

/* count elements of a float32 output; values that are not finite count as no
 * error. */
struct kf_precision_found kf_precision_find(const float *error,
		const double *exact, const float *got, int64_t count);

#endif
