/*
 * advise.h - the stages profile and advice: why the best program takes its
 * time, and the one change that the next attempt is asked for. Inside loop/
 * only. Both are in the store before they are used: a resume finds them there.
 */
#ifndef KF_LOOP_ADVISE_H
#define KF_LOOP_ADVISE_H

#include "loop/run.h"

/* Fills in lane->look for the program of base. */
KF_MUST_CHECK enum kf_code kf_lane_profile(struct kf_lane *lane,
		const struct kf_attempt *base, struct kf_err *err);

/* Fills in lane->look.advice for the attempt, after kf_lane_profile of next's
 * best. A model that cannot be paid for is not asked: the rules advise. */
KF_MUST_CHECK enum kf_code kf_lane_advise(struct kf_lane *lane,
		const struct kf_attempt *attempt,
		const struct kf_policy_next *next, struct kf_err *err);

/* What is left of the best program's time is under 5 % of its memory bound.
 * Never where nothing is to be profiled. */
bool kf_lane_near_bound(const struct kf_lane *lane,
			const struct kf_attempt *best);
/* The problem's attempts are made: the best program's roofline is kept, if it
 * has none yet, for those who ask how far it is from its bounds. Nothing is
 * counted for it. */
KF_MUST_CHECK enum kf_code kf_lane_keep_bound(struct kf_lane *lane,
		const struct kf_attempt *best, struct kf_err *err);

#endif
