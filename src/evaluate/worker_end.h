/*
 * worker_end.h - from how a worker's process ended to what is said about the
 * candidate. Part of worker.c. Pure: no process, no memory but its arguments.
 */
#ifndef KF_EVALUATE_WORKER_END_H
#define KF_EVALUATE_WORKER_END_H

#include "evaluate/arena.h"
#include "evaluate/worker.h"

/* Why the supervisor stopped waiting. */
enum kf_wait {
	KF_WAIT_ANSWERED,
	KF_WAIT_ENDED,		/* the process is gone */
	KF_WAIT_LATE,		/* our deadline passed */
	KF_WAIT_CANCELED,
	KF_WAIT_BROKEN,		/* the answer cannot be one */
};

/* What the worker was doing, as the tail of a sentence: "in kf_forward". */
const char *kf_worker_doing(enum kf_host_command command);

/* Fills state, signal, text and output of *end. fault is a copy of what the
 * worker left in its reply: believed only as far as it fits the outcome.
 * timeout_ns is the deadline that passed, for LATE. */
void kf_worker_explain(enum kf_wait why, enum kf_host_command command,
		       const struct kf_outcome *outcome,
		       const struct kf_host_fault *fault,
		       const struct kf_arena *arena, uint64_t timeout_ns,
		       struct kf_call_end *end);

#endif
