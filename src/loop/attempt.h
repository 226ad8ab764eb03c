/*
 * attempt.h - one turn of the loop, in memory: what has become of it so far.
 * Everything in it can be had again from the store.
 */
#ifndef KF_ATTEMPT_H
#define KF_ATTEMPT_H

#include "candidate/candidate.h"
#include "evaluate/shapes.h"
#include "loop/policy.h"
#include "prompt/prompt.h"
#include "store/store.h"
#include <kforge/provider.h>

#define KF_ATTEMPT_SUMMARY 240

/* Of its second judgement, when the run ended (rejudge.h). */
struct kf_second {
	enum kf_state state;		/* NONE: it was judged once only */
	char reason[48];
	unsigned place, of;		/* 1 of 3: the best of three; 0: not
					   correct */
	double time_ns, baseline_ns;
	struct kf_ratio speedup;
	bool conclusive;
	json_t *verdict;		/* owned; as it is stored */
};

struct kf_attempt {
	int64_t id;			/* in the store */
	unsigned number;		/* 1..; 0 is the program given by --start */
	char kind[16];			/* "start", "generate", "repair" ... */
	enum kf_attempt_stage stage;
	struct kf_buf reply;		/* owned; empty until REPLIED */
	enum kf_finish finish;
	struct kf_candidate candidate;	/* owned; empty until EXTRACTED */
	enum kf_state state;		/* NONE until JUDGED */
	char reason[48];
	char *feedback;			/* owned; the verdict's text */
	json_t *profile;		/* owned; of a machine that profiled it as
					   it judged it; NULL: none did */
	double time_ns, baseline_ns, speedup, speedup_low, speedup_high;
	bool conclusive;
	bool kernelbench_good;		/* by the benchmark's own rule */
	char baseline[16];		/* what baseline_ns is of: "eager" ... */
	double eager_ns, compile_ns;	/* each by itself; NaN: not tried */
	uint64_t memory_bytes_peak;	/* of its process; 0 if unknown */
	json_t *baseline_about;		/* owned; as in the verdict; NULL */
	char worst_shape[KF_SHAPE_NAME];	/* "" unless judged on several */
	double worst_speedup;
	char summary[KF_ATTEMPT_SUMMARY]; /* what the model said it would do */
	uint64_t tokens;		/* in and out */
	struct kf_second second;
};

struct kf_attempts {			/* of one problem, by number */
	struct kf_attempt *attempt;	/* owned */
	size_t count;
};

/* Appends an empty attempt and returns it; valid until the next append. */
struct kf_attempt *kf_attempts_append(struct kf_attempts *list);
void kf_attempts_release(struct kf_attempts *list);

/* Everything that the store knows about a problem's attempts. */
KF_MUST_CHECK enum kf_code kf_attempts_load(struct kf_store *store,
		int64_t problem_id, struct kf_attempts *out,
		struct kf_err *err);

/* The same without the texts of replies and sources: damage to those does not
 * matter to it. */
KF_MUST_CHECK enum kf_code kf_attempts_load_verdicts(struct kf_store *store,
		int64_t problem_id, struct kf_attempts *out,
		struct kf_err *err);

/* How many of them are judged (the last one may be on its way). */
size_t kf_attempts_judged(const struct kf_attempts *list);
/* Which program is the best: by the second judgements where there are any, else
 * kf_policy_best. NULL: none is correct. */
const struct kf_attempt *kf_attempts_best(const struct kf_attempts *list);
/* Its state, which a second judgement that went wrong has changed. */
enum kf_state kf_attempt_state(const struct kf_attempt *attempt);
/* What it took: at the second judgement, if it was timed there, for the first
 * one's times are those by which it was picked. */
struct kf_times {
	double time_ns, baseline_ns;	/* NaN if unknown, as all of it */
	double speedup, low, high;
	bool conclusive;
};
struct kf_times kf_attempt_times(const struct kf_attempt *attempt);
/* Takes verdict over, which is as kf_store_second has it. */
void kf_attempt_second_take(struct kf_attempt *attempt, json_t *verdict);
/* For the policy; caller frees. */
struct kf_policy_attempt *kf_attempts_for_policy(const struct kf_attempts *l,
						 size_t count);
/* For prompts; borrows from the attempt. */
struct kf_prompt_attempt kf_attempt_for_prompt(const struct kf_attempt *a);

/* The first words of a reply before its first code block. */
void kf_attempt_summarize(struct kf_attempt *attempt);
/* Take over what a verdict says. */
void kf_attempt_judged(struct kf_attempt *attempt,
		       const struct kf_verdict *verdict);

#endif
