/*
 * advice.h - what the store keeps of profiles and of the analysis agent: the
 * profile of a correct program, the agent's replies, the advice that an attempt
 * was given, and the gain that followed.
 *
 * An advice is named by the attempt that it is for, which need not be there
 * yet. What is in the store is final: a second one is KF_E_INPUT, but for the
 * profile, which may be taken again.
 */
#ifndef KF_STORE_ADVICE_H
#define KF_STORE_ADVICE_H

#include "store/store.h"

struct kf_store_profile {
	const char *end;		/* kf_profile_end_name */
	const char *bottleneck;		/* kf_profile_class_name */
	const char *page;		/* what is left of it, for reading */
	size_t page_len;
	const json_t *profile, *roofline;
};
enum kf_code kf_store_profile(struct kf_store *store, int64_t attempt_id,
		const struct kf_store_profile *profile, struct kf_err *err);
/* {"end","bottleneck","page","profile","roofline","made_at"}, texts and all;
 * *out is NULL if the program of that attempt has no profile. New reference. */
enum kf_code kf_store_profile_of(struct kf_store *store, int64_t attempt_id,
		json_t **out, struct kf_err *err);

/* The roofline of the newest program of the problem that has one; what is the
 * problem's and the device's in it is of all of them. *out is NULL if none has.
 * New reference. */
enum kf_code kf_store_roofline(struct kf_store *store, int64_t problem_id,
		json_t **out, struct kf_err *err);

/* Which attempt, of which problem, is to be advised. */
struct kf_advice_for { int64_t problem_id; unsigned number; };

#define KF_ADVICE_TURNS 2	/* asked, and asked once more */

/* Durable when it returns KF_OK, as kf_store_reply is. turn: 1, 2. */
enum kf_code kf_store_advice_reply(struct kf_store *store,
		struct kf_advice_for whom, unsigned turn, const char *prompt,
		const struct kf_store_reply *reply, struct kf_err *err);
/* The text of that turn's reply is added to out; *there is false, and nothing
 * added, where there is none. */
enum kf_code kf_store_advice_replied(struct kf_store *store,
		struct kf_advice_for whom, unsigned turn, struct kf_buf *out,
		bool *there, struct kf_err *err);
/* What the analysis agent has used, and how often it replied; of one problem
 * if id is not 0. */
enum kf_code kf_store_advice_used(struct kf_store *store, int64_t problem_id,
		uint64_t *tokens, unsigned *replies, struct kf_err *err);

/* What an agent's replies took. */
enum kf_store_agent { KF_STORE_GENERATOR, KF_STORE_ADVISOR, KF_STORE_AGENTS };
struct kf_store_used { uint64_t tokens_in, tokens_out; unsigned replies; };
enum kf_code kf_store_used(struct kf_store *store, int64_t problem_id,
		struct kf_store_used used[KF_STORE_AGENTS], struct kf_err *err);

/* A counter that an advice cites. */
struct kf_store_counter { const char *kernel, *name; double value; };

struct kf_store_advice {
	int64_t base_id;		/* the attempt whose program it is about */
	const char *source;		/* "model", "model again", "rules", "none" */
	const char *bottleneck;
	double expected_gain;		/* NaN: none was named */
	const json_t *advice;		/* whole */
	const struct kf_store_counter *counter;
	size_t counter_count;
};
enum kf_code kf_store_advice(struct kf_store *store, struct kf_advice_for whom,
		const struct kf_store_advice *advice, struct kf_err *err);

/* In order: [{"problem","number","base","source","bottleneck","expected_gain",
 * "advice","counters":[{"kernel","name","value"}],"state","gain","given_at"}].
 * gain is how many times as fast as its base the attempt became: null until it
 * is judged, and where it is not correct. Of one problem if id is not 0. New
 * reference. */
enum kf_code kf_store_advices(struct kf_store *store, int64_t problem_id,
		json_t **out, struct kf_err *err);

#endif
