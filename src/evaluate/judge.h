/*
 * judge.h - what evaluate.c, timing.c, feedback.c and evidence.c know about the
 * judgement that is under way. Private to them.
 */
#ifndef KF_EVALUATE_JUDGE_H
#define KF_EVALUATE_JUDGE_H

#include "evaluate/claim.h"
#include "evaluate/clocks.h"
#include "evaluate/session.h"

#define KF_FEEDBACK_BYTES	3072u	/* of kf_verdict.text */
#define KF_BUILD_FEEDBACK_BYTES	4096u	/* the same for compilers' words */

/* What became of one verdict set. */
struct kf_set_result {
	bool ran;
	enum kf_fault fault;		/* by the rules that decide */
	bool good, kernelbench_good;
};

struct kf_judgement {
	const struct kf_evaluate_request *req;
	struct kf_verdict *out;
	struct kf_rng rng;
	uint64_t seed;			/* that rng began with */
	struct kf_session_shared shared;
	unsigned calls_left;

	struct kf_set_result *set;	/* owned; [set_count] */
	struct kf_check failure;	/* the fault to report; NONE: none so far */
	bool failure_timed;		/* it was a call after all sets had passed */
	bool all_good, kernelbench_seen, kernelbench_good;
	double q_max, rms_max;		/* over all calls */
	int64_t tie_count, tie_chunk_count;	/* the most in a call */

	/* Times of calls, and the medians of blocks, ns. */
	uint64_t *time_ns, *baseline_ns;	/* owned */
	size_t time_count, baseline_count;
	/* The same calls by our own clock, added up, where time_ns is by the
	 * device's. */
	uint64_t wall_ns;
	size_t wall_count;
	size_t doubted_count;	/* of them: the device's clock lagged behind */
	/* For how long threads of timed calls waited for a processor. */
	uint64_t delay_ns;
	size_t delay_count;
	double *block_ns, *block_baseline_ns;	/* owned; block_max */
	size_t block_count;
	double cold_ns, baseline_cold_ns;	/* medians, inputs not in the
					   caches; 0: not taken */
	bool cold_over;			/* they were, or could not be */
	size_t disturbed_count;		/* pairs of blocks that were taken again */
	struct kf_clock_log clocks;	/* of the device, in these pairs */
	uint64_t call_ns;		/* a usual call, from the first ones */
	uint64_t call_ns_min;		/* of these, the shortest */
	unsigned hold_tries;		/* planned: see kf_process_hold */
	unsigned held_tries, held_calls;	/* made, and held up */
	uint64_t timing_start_ns;
	uint64_t timing_end_ns;		/* on our clock; 0: not begun */
	struct kf_floor floor;		/* of its time */
	double first_ns;		/* a time below it, which was taken once
					   more; 0: none */
	struct kf_lock lock;		/* of the device, while timing */
	uint64_t waited_ns;		/* for that lock */
	struct kf_ratio ratio;		/* against a constant if there is no live
					   baseline: its width still tells */

	uint64_t fingerprint;		/* of the declared set's outputs */
	bool fingerprint_seen, repeated, repeated_equal;
	struct kf_buf order;		/* of the first process's first calls */
	struct kf_buf notes;		/* sentences for the evidence, one a line */
};

/* An empty judgement and an empty verdict; then what its sessions need, for a
 * request that is not malformed. Release in any case. */
void kf_judgement_init(const struct kf_evaluate_request *req,
		       struct kf_verdict *out, struct kf_judgement *judgement);
KF_MUST_CHECK enum kf_code kf_judgement_open(struct kf_judgement *judgement,
					     struct kf_err *err);
void kf_judgement_release(struct kf_judgement *judgement);
/* What was found, into the verdict. */
void kf_judgement_tell(struct kf_judgement *judgement);

/* Which way the request's baseline ran. */
void kf_judgement_note_baseline(const struct kf_evaluate_request *req,
				struct kf_verdict *out);
/* Is a time conclusive? Notes say what speaks against it. After the ratio. */
void kf_judgement_doubt(struct kf_judgement *judgement);
/* Why times of programs that run so are never conclusive: they can take work
 * out of their time, if they mean to. NULL: they may be. */
const char *kf_judgement_doubts(const struct kf_evaluate_request *req,
				bool in_process);

/* Runs sets and timed calls, process after process, until the verdict stands:
 * judgement->failure tells. */
KF_MUST_CHECK enum kf_code kf_judgement_run(struct kf_judgement *judgement,
					    struct kf_err *err);

#endif
