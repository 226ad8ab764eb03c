/*
 * shapes.h - one verdict out of the verdicts on several shapes.
 *
 * A program is correct if it is on every shape; judging ends at the first on
 * which it is not, and the verdict is that shape's, named. The headline of a
 * program that is correct on all is geometric: the mean of speed-ups, of times
 * and of the baseline's times; the worst shape stands beside it.
 */
#ifndef KF_EVALUATE_SHAPES_H
#define KF_EVALUATE_SHAPES_H

#include "evaluate/evaluate.h"

#define KF_SHAPE_NAME 33

struct kf_shape_result {
	char name[KF_SHAPE_NAME];
	enum kf_state state;
	double time_ns, baseline_ns;	/* NaN as in struct kf_verdict */
	struct kf_ratio speedup;
	bool conclusive;
};

/* Takes over the verdict on the next shape. *all begins zeroed; it is the last
 * verdict taken, with the results of all and what judging them took. */
void kf_shapes_take(struct kf_verdict *all, const char *name,
		    struct kf_verdict *one);
/* After the last one: the headline, the worst shape, the text. count: how many
 * shapes there are, judged or not. */
void kf_shapes_end(struct kf_verdict *all, size_t count);

/* [{"name", "state", "time_ns", "baseline_ns", "speedup", ...}], new
 * reference. */
json_t *kf_shapes_to_json(const struct kf_verdict *verdict);

/* Index of the shape with the least speed-up, or shape_count where none has
 * one. */
size_t kf_shapes_worst(const struct kf_verdict *verdict);

#endif
