/*
 * policy.h - what to do next. Pure: decides from the attempts so far.
 *
 * One chain of attempts. Until a program is correct, repair the last one (the
 * functional pass); from then on improve the best one (the optimization
 * pass). After PLATEAU_COUNT correct or failed tries in a row that gained
 * less than PLATEAU_GAIN, the next prompt asks for another algorithm.
 */
#ifndef KF_POLICY_H
#define KF_POLICY_H

#include "evaluate/evaluate.h"

#define KF_PLATEAU_COUNT 2
#define KF_PLATEAU_GAIN 1.02

struct kf_policy_attempt {
	enum kf_state state;	/* NONE is not allowed here */
	double time_ns;		/* NaN unless correct */
	double speedup;		/* against the baseline; NaN if unknown */
	double speedup_low;	/* lower end of its interval; NaN if none */
	bool conclusive;	/* the interval is narrow enough to build on */
};

struct kf_policy_rules {
	unsigned attempt_max;		/* replies to ask for; >= 1 */
	unsigned start_count;		/* attempts at the front that were given,
					   not asked for (--start) */
	double target_speedup;		/* stop when the lower end of the interval
					   reaches it; NaN: none */
	bool near_bound;		/* kf_roofline_reached, by the best one */
};

enum kf_policy_kind {
	KF_POLICY_GENERATE,	/* nothing yet: write a program */
	KF_POLICY_REPAIR,	/* the last one failed and none is correct */
	KF_POLICY_OPTIMIZE,	/* make the best one faster */
	KF_POLICY_STOP_ATTEMPTS,	/* all attempts are used */
	KF_POLICY_STOP_TARGET,	/* the target speed-up is reached */
	KF_POLICY_STOP_BOUND,	/* memory allows no more */
};
const char *kf_policy_kind_name(enum kf_policy_kind kind);	/* "repair" */
bool kf_policy_stops(enum kf_policy_kind kind);

struct kf_policy_next {
	enum kf_policy_kind kind;
	size_t best;		/* index, or KF_POLICY_NO_ATTEMPT */
	size_t previous;	/* likewise */
	bool plateau;
};

#define KF_POLICY_NO_ATTEMPT SIZE_MAX

/* Index of the best correct attempt: by speed-up where both are conclusive
 * (taken in turn with the baseline, it holds when the machine's speed drifts),
 * else by time: a baseline that was disturbed makes a speed-up of anything.
 * KF_POLICY_NO_ATTEMPT if none is correct. */
size_t kf_policy_best(const struct kf_policy_attempt *attempt, size_t count);

struct kf_policy_next kf_policy_decide(const struct kf_policy_rules *rules,
				       const struct kf_policy_attempt *attempt,
				       size_t count);

#endif
