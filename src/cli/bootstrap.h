/*
 * bootstrap.h - a mean with its interval, by drawing the values anew from
 * themselves (the bootstrap). Pure: the draws are the same each time.
 */
#ifndef KF_CLI_BOOTSTRAP_H
#define KF_CLI_BOOTSTRAP_H

#include "base/json.h"

struct kf_interval {
	double mean;		/* NaN: no value */
	double low, high;	/* 95 %; NaN: fewer than two values */
	size_t count;		/* values that there are */
};

/* Of the values that are not NaN: one for each problem. The draws of few values
 * are too much alike, so the interval takes in more of them than 95 %, by
 * Student's t (Hesterberg's expanded percentiles). */
struct kf_interval kf_bootstrap(const double *value, size_t count);
/* Of logarithms: the geometric mean. */
struct kf_interval kf_bootstrap_exp(const double *logarithm, size_t count);

/* Fewer values say nothing of a difference: all of five are on one side of it
 * by chance in 1 of 16 cases. */
#define KF_BOOTSTRAP_LEAST 6

/* {"mean","low","high","problems"}; new reference. */
json_t *kf_interval_to_json(const struct kf_interval *interval);

#endif
