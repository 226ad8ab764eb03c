/*
 * score.h - several problems in one line: how many are correct, how fast in
 * the mean, fast_p as KernelBench defines it. Pure.
 */
#ifndef KF_CLI_SCORE_H
#define KF_CLI_SCORE_H

#include "base/json.h"

/* Zeroed is empty. */
struct kf_score {
	size_t problem_count, correct_count;
	size_t timed_count;	/* correct ones whose speed-up is known */
	size_t faster_count;	/* of them, faster than the baseline */
	double log_sum;		/* of their speed-ups */
};

/* One problem's best program; speedup is NaN if unknown. */
void kf_score_add(struct kf_score *score, bool correct, double speedup);
/* Of the speed-ups of correct programs; NaN without any. */
double kf_score_geomean(const struct kf_score *score);
/* The share of all problems whose program is correct and faster than the
 * baseline, as KernelBench has it for p = 1; NaN without problems. */
double kf_score_fast_1(const struct kf_score *score);

/* New reference. */
json_t *kf_score_to_json(const struct kf_score *score);
/* "all as published: 9 problems, 8 correct, geometric mean 1.42x, fast_1 0.67"
 * and a newline. */
void kf_score_say(const struct kf_score *score, const char *title,
		  struct kf_buf *out);

#endif
