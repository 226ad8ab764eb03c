/*
 * prompting.h - what a prompt is made from, out of the attempts so far. Inside
 * loop/ only.
 */
#ifndef KF_LOOP_PROMPTING_H
#define KF_LOOP_PROMPTING_H

#include "loop/run.h"

struct kf_prompting {
	struct kf_prompt_request req;	/* points into the rest: do not copy */
	struct kf_prompt_attempt *history;	/* owned */
	struct kf_prompt_shape shape[KF_PROMPT_SHAPES];
};

/* For attempt number, whose step was decided on; borrows from the lane. Without
 * profile and advice. Release it also after a failure. */
KF_MUST_CHECK enum kf_code kf_prompting_make(const struct kf_lane *lane,
		const struct kf_policy_next *next, unsigned number,
		struct kf_prompting *out, struct kf_err *err);
void kf_prompting_release(struct kf_prompting *prompting);

#endif
