/*
 * stats.h - what times say. Pure.
 *
 * Times come in blocks of calls, candidate and baseline in turn, each block of
 * the candidate from a process of its own. The ratio baseline / candidate is
 * estimated from the medians of blocks: a t-interval on the mean of their log
 * ratio. Block medians hold under autocorrelation where order statistics do
 * not, and two blocks of one process would hide how processes differ.
 */
#ifndef KF_EVALUATE_STATS_H
#define KF_EVALUATE_STATS_H

#include "base/base.h"

uint64_t kf_stats_median_u64(const uint64_t *value, size_t count); /* 0 if none */
double kf_stats_median(const double *value, size_t count);	/* NaN if none */
/* Two-sided 95 % quantile of Student's t with df >= 1 degrees of freedom. */
double kf_stats_t95(unsigned df);

struct kf_ratio {
	double ratio;			/* baseline / candidate; NaN if no block */
	double low, high, width;	/* NaN until 2 blocks; width is (high -
					   low) / ratio */
	size_t block_count;
};
/* From block medians in ns, pairwise. */
void kf_stats_ratio(const double *candidate_ns, const double *baseline_ns,
		    size_t block_count, struct kf_ratio *out);

/* The stopping rule: 5 blocks at least, 20 at most, done at 2 % width. */
struct kf_stop_rule { size_t block_min, block_max; double width; };
extern const struct kf_stop_rule kf_stop_default;
bool kf_stats_done(const struct kf_stop_rule *rule, const struct kf_ratio *r);

#endif
