/*
 * process.h - one process of a candidate within a judgement: which cases it is
 * called on before it is timed, and a block of timed calls. What timing.c (a
 * candidate and its baseline) and duel.c (several programs) have in common.
 * Private to them.
 *
 * What is found in a call is noted in the judgement; once its failure.fault is
 * set, nothing but kf_process_end may follow.
 */
#ifndef KF_EVALUATE_PROCESS_H
#define KF_EVALUATE_PROCESS_H

#include "evaluate/judge.h"

#define KF_BLOCK_CALLS		10u	/* in a block; longer calls: fewer */
#define KF_BLOCK_CALLS_LEAST	3u
#define KF_BLOCKS_MOST		6u	/* of a process with the baseline */

struct kf_process {
	struct kf_session session;
	const struct kf_case **fresh;	/* owned; the stock, in an order that
					   seed gives */
	size_t fresh_count, fresh_used;
	size_t keep;			/* so many at the end are not used to
					   warm up: a block's, at first */
	unsigned turns;			/* with the baseline, that count */
	unsigned timed_count;		/* calls of its block */
	uint64_t start_ns;
	bool first;
};

/* Starts it and loads the candidate; *check tells how that went. first: it
 * sees every verdict set. kf_process_end follows, also after a failure. */
KF_MUST_CHECK enum kf_code kf_process_start(struct kf_judgement *judgement,
		bool first, uint64_t seed, struct kf_process *out,
		struct kf_check *check, struct kf_err *err);
void kf_process_end(struct kf_process *process);

/* Its first calls: sets and a few stock entries, in secret order. */
KF_MUST_CHECK enum kf_code kf_process_sets(struct kf_judgement *judgement,
		struct kf_process *process, struct kf_err *err);
/* Then stock entries until it is warm. */
KF_MUST_CHECK enum kf_code kf_process_warm(struct kf_judgement *judgement,
		struct kf_process *process, struct kf_err *err);
/* How many stock entries the two take at most, of so many. */
size_t kf_process_warm_count(size_t stock_count);

/* The next stock entry that it has not seen; there must be one. */
const struct kf_case *kf_process_fresh(struct kf_process *process);
/* One checked call, noted in the judgement. */
KF_MUST_CHECK enum kf_code kf_process_call(struct kf_judgement *judgement,
		struct kf_process *process, const struct kf_case *kase,
		bool timed, struct kf_check *check, struct kf_err *err);
/* Its last calls, in which threads come in another order: the one that is
 * called is held up for a moment, and can tell. None of a program without
 * threads, where calls are long, or where a fixed plan has too few; not under
 * the benchmark's rules. */
KF_MUST_CHECK enum kf_code kf_process_hold(struct kf_judgement *judgement,
		struct kf_process *process, struct kf_err *err);
/* One more checked call in which *ran gets what ran (kf_session_trace); values
 * that are wrong are noted in the judgement. One that did not end well may be
 * the watcher's doing: then *ran says so, and kf_process_end follows. */
KF_MUST_CHECK enum kf_code kf_process_trace(struct kf_judgement *judgement,
		struct kf_process *process, struct kf_buf *ran,
		struct kf_err *err);
/* Nothing more can be asked of it after this check. */
bool kf_process_dead(const struct kf_check *last);

/* Before calls that are not timed: where their data are so large that they
 * would disturb who times on the device, the device is shared until the caller
 * releases *out. */
KF_MUST_CHECK enum kf_code kf_device_share_sets(struct kf_judgement *judgement,
		struct kf_lock *out, struct kf_err *err);
/* From here to the end of the judgement nobody else times on its device.
 * Processes that were started are paused while it waits. */
KF_MUST_CHECK enum kf_code kf_device_take(struct kf_judgement *judgement,
					  struct kf_err *err);

/* Calls in a block, for a usual call of that length; 0: not known. */
unsigned kf_block_calls(uint64_t call_ns);
/* At most so many: on a device data that are too large to be kept take hundreds
 * of times the call to be moved and compared, so that one process must do. */
size_t kf_block_most(const struct kf_evaluate_request *req);
/* A block of timed calls. *disturbed becomes true if other programs took
 * processors away from too many of them; it is never set to false. */
KF_MUST_CHECK enum kf_code kf_block_run(struct kf_judgement *judgement,
		struct kf_process *process, const struct kf_case *const *kase,
		unsigned count, uint64_t *time_ns, bool *disturbed,
		struct kf_err *err);
/* The same of the baseline; at most KF_BLOCK_CALLS. */
KF_MUST_CHECK enum kf_code kf_block_baseline(struct kf_baseline *baseline,
		const struct kf_case *const *kase, unsigned count,
		uint64_t *time_ns, bool *disturbed, struct kf_err *err);
/* A block's median as a number that has a logarithm. */
double kf_block_median(const uint64_t *time_ns, unsigned count);

#endif
