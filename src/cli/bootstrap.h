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

/* Of the values that are not NaN: one for each problem. */
struct kf_interval kf_bootstrap(const double *value, size_t count);
/* Of logarithms: the geometric mean. */
struct kf_interval kf_bootstrap_exp(const double *logarithm, size_t count);

/* {"mean","low","high","problems"}; new reference. */
json_t *kf_interval_to_json(const struct kf_interval *interval);

#endif
