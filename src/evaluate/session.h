/*
 * session.h - one process of a candidate: cases go in, checked calls come out.
 * Part of evaluate.c and timing.c; src/profile/ runs what was judged before
 * once more by it.
 *
 * Every call is the same for the candidate and is checked in full: outputs are
 * poisoned and inputs written before it; afterwards guards, inputs and all
 * outputs are looked at. No case is used twice within one process.
 */
#ifndef KF_EVALUATE_SESSION_H
#define KF_EVALUATE_SESSION_H

#include "evaluate/compare.h"
#include "evaluate/evaluate.h"
#include "evaluate/nursery.h"
#include "evaluate/positions.h"
#include "evaluate/precision.h"
#include "platform/plan.h"

/* What was wrong with a call; the most telling first. */
enum kf_fault {
	KF_FAULT_NONE,
	KF_FAULT_CALL,		/* it did not end well: see kf_check.call */
	KF_FAULT_INPUT_CHANGED,
	KF_FAULT_OUT_OF_BOUNDS,
	KF_FAULT_DEFERRED,	/* outputs were wrong, and changed after the
				   return */
	KF_FAULT_UNWRITTEN,
	KF_FAULT_NONFINITE,
	KF_FAULT_VALUES,
	KF_FAULT_PRECISION,	/* within the bounds, but with the errors of
				   operands that were rounded */
	KF_FAULTS
};
const char *kf_fault_reason(enum kf_fault fault); /* "values"; "" for CALL */

struct kf_check {
	enum kf_fault fault;
	const struct kf_case *kase;
	bool preparing;		/* it was kf_prepare that failed */
	unsigned call_number;	/* 1.. within its process */
	struct kf_call_end call;
	size_t tensor;		/* output or input that the fault is about */
	int64_t byte;		/* OUT_OF_BOUNDS, INPUT_CHANGED: where */
	struct kf_compare compare;	/* of that output, by the rule that decides */
	enum kf_precision precision;	/* PRECISION: which */
	struct kf_precision_found found;	/* likewise */
	const struct kf_case *stale;	/* the output is this earlier case's */
	bool good;		/* by kforge's own rules */
	bool kernelbench_applies, kernelbench_good;
	bool held;		/* up: threads came in another order in it */
	double q_max, rms_max;	/* over all outputs, in units of the limits */
	int64_t tie_count, tie_chunk_count;	/* of all outputs */
	uint64_t fingerprint;	/* of all outputs' bytes */
};

#define KF_SESSIONS_AHEAD 3

/* What all processes of one evaluation have in common. */
struct kf_session_shared {
	const struct kf_evaluate_request *req;
	char *artefact_path;		/* owned; what processes load: empty until
					   kf_session_shared_fill */
	struct kf_worker *ahead[KF_SESSIONS_AHEAD]; /* owned; made, not begun */
	size_t ahead_count;
	struct kf_worker *leaving[KF_SESSIONS_AHEAD]; /* owned; being killed */
	size_t leaving_count;
	uint64_t timeout_ns;		/* of one call */
	struct kf_compare_typical *typical;	/* owned; [out_count] */
	struct kf_positions *positions;	/* owned; [out_count] */
	uint64_t candidate_ns;		/* spent in the candidate's code */
	uint64_t prepare_ns;		/* the first kf_prepare */
	uint64_t memory_bytes_peak;
	uint64_t handshake_ns;		/* taken off every time of the last process */
	unsigned call_count, process_count;
	enum kf_sandbox_tier tier;	/* the weakest of all processes */
	struct kf_plans plans;		/* owned; of a two-part program */
	struct kf_python_side python;	/* owned; for programs in Python */
	struct kf_nursery nursery;	/* owned; of those */
	bool device_clock;		/* times are the device's own */
	bool has_threads;		/* the program names what makes them */
	bool inputs_here;		/* no device is to make them */
};
KF_MUST_CHECK enum kf_code kf_session_shared_init(
		struct kf_session_shared *shared,
		const struct kf_evaluate_request *req, struct kf_err *err);
/* Do its processes open a device, which takes longer than all their calls? */
bool kf_session_opens_device(const struct kf_evaluate_request *req);
/* Begins processes that the next sessions will use, up to count in all and
 * fewer for large problems; they get ready by themselves. What fails is left to
 * kf_session_start. */
void kf_session_shared_ahead(struct kf_session_shared *shared, size_t count);
/* The program that all sessions load. The host part of a two-part program is
 * recorded here, and left out; *end is what came of that, else GOOD. */
KF_MUST_CHECK enum kf_code kf_session_shared_fill(
		struct kf_session_shared *shared, const char *artefact_path,
		struct kf_call_end *end, struct kf_err *err);
/* All processes have ended; what is known of them only then is noted. */
void kf_session_shared_close(struct kf_session_shared *shared);
void kf_session_shared_release(struct kf_session_shared *shared);

struct kf_session {
	struct kf_session_shared *shared;
	struct kf_worker *worker;
	const void **weight;		/* what the weights hold now */
	bool prepared;			/* kf_prepare has run with them */
	/* Of inputs, before each call; NULL: they stay in the caches. */
	void (*evict)(const void *data, size_t bytes);
	const struct kf_case **used;	/* owned */
	size_t used_count;
	unsigned call_count;
	bool to_hold;			/* the call that is made */
	bool summed;			/* of the last call's outputs only windows
					   and sums came back */
	struct kf_laps call, all;	/* where the time of the last call, and of
					   the whole session, went */
};

/* Starts the process and loads the candidate; *check tells how that went. */
KF_MUST_CHECK enum kf_code kf_session_start(struct kf_session_shared *shared,
		struct kf_session *out, struct kf_check *check,
		struct kf_err *err);
/* One checked call. After KF_FAULT_CALL with anything but a returned code the
 * process is dead and only kf_session_end may follow. */
KF_MUST_CHECK enum kf_code kf_session_call(struct kf_session *session,
		const struct kf_case *kase, struct kf_check *check,
		struct kf_err *err);
/* One more, checked alike, in which the thread that is called is held up so
 * long after its start, unless it has ended by then (kf_worker_hold). The case
 * may have been used, and the program can tell this call from others. The
 * benchmark has no such call: its rule does not apply. */
KF_MUST_CHECK enum kf_code kf_session_hold(struct kf_session *session,
		const struct kf_case *kase, uint64_t after_ns,
		struct kf_check *check, struct kf_err *err);
/* One more, checked alike, in which *ran gets what ran (kf_worker_trace); of a
 * driver that can be traced. The case may have been used: the program can tell
 * this call from others. */
KF_MUST_CHECK enum kf_code kf_session_trace(struct kf_session *session,
		const struct kf_case *kase, struct kf_buf *ran,
		struct kf_check *check, struct kf_err *err);
void kf_session_end(struct kf_session *session);

#endif
