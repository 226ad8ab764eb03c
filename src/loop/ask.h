/*
 * ask.h - a model is asked: the generation agent for a program, the analysis
 * agent for advice. Inside loop/ only.
 */
#ifndef KF_LOOP_ASK_H
#define KF_LOOP_ASK_H

#include "loop/pictures.h"
#include "loop/run.h"

struct kf_question {
	struct kf_model *model;
	const char *agent;		/* as in kf_ask; NULL: for a program */
	const struct kf_prompt *prompt;
	const struct kf_attempt *attempt;	/* the one that it is for */
	unsigned token_max;
	const struct kf_pictures *pictures;	/* NULL: none */
};

void kf_lane_tell(const struct kf_lane *lane, struct kf_event event);
/* A line worth the user's knowing, about an attempt. */
void kf_lane_notice(const struct kf_lane *lane,
		    const struct kf_attempt *attempt, const char *line);
/* What cannot work here may be meant for another platform: the model hears of
 * it in the verdict, and the user, who may have meant that one too. */
void kf_lane_hint(const struct kf_lane *lane, const struct kf_attempt *attempt,
		  struct kf_verdict *verdict);

/* The reply's ceiling in tokens, lowered so that the budget holds whatever
 * the model does; 0 when the budget cannot pay for another reply. */
unsigned kf_lane_token_ceiling(const struct kf_lane *lane,
			       const struct kf_prompt *prompt);
/* The caller stores the reply, then calls kf_model_stored, and releases it. */
KF_MUST_CHECK enum kf_code kf_lane_ask(const struct kf_lane *lane,
		const struct kf_question *question, struct kf_reply *out,
		struct kf_err *err);
/* For the store; borrows from the reply. A service that reports no tokens is
 * charged by our estimate. */
struct kf_store_reply kf_reply_row(const struct kf_reply *reply,
				   const struct kf_prompt *prompt);
/* {"system", "user", "pictures"} as text; pictures: kf_pictures_store's, or
 * NULL. Caller frees. */
char *kf_prompt_to_json(const struct kf_prompt *prompt,
			const json_t *pictures);

#endif
