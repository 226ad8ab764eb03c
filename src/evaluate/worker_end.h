/*
 * worker_end.h - from how a process ended that ran a candidate's code to what
 * is said about the candidate. Part of worker.c and record.c. Pure: no process,
 * no memory but its arguments.
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
void kf_worker_doing(const struct kf_driver *driver,
		     enum kf_host_command command, char out[64]);

/* Where the candidate's code shares a runner's process: may this code of an
 * answer be the runner's own? What a driver says of its device may; the rest it
 * never meets, but where it writes a profile's file. */
bool kf_worker_may_say(const struct kf_driver *driver, uint32_t code);

/* What the runner in Python calls the end of a call; PROTOCOL for what it never
 * says. A device that cannot fall ill has no trouble: an exception. */
enum kf_call_state kf_worker_python_state(const struct kf_driver *driver,
					  int rc);
/* May that be the device's or others' doing, and not the program's, with which
 * the runner shares its process? */
bool kf_worker_python_trouble(const struct kf_driver *driver,
			      enum kf_call_state state);

/* Whose end it was, for sentences. */
struct kf_end_about {
	const char *who;		/* "the program" */
	const char *doing;		/* "in kf_forward" */
	const struct kf_arena *arena;	/* to find inputs in; NULL: none */
	uint64_t timeout_ns;		/* that passed, for LATE */
};

/* Fills state, signal, text and output of *end. fault is a copy of what the
 * process left: believed only as far as it fits the outcome. */
void kf_worker_explain(enum kf_wait why, const struct kf_end_about *about,
		       const struct kf_outcome *outcome,
		       const struct kf_host_fault *fault,
		       struct kf_call_end *end);
/* Its output alone: the end of what was printed, first stdout, then stderr. */
void kf_end_output(const struct kf_outcome *outcome, struct kf_call_end *end);

/* Can a call that took_ns by our clock have taken device_ns by a device's? */
bool kf_worker_clock_holds(uint64_t device_ns, uint64_t took_ns);
/* Is it far below host_ns, what the same took by the clock of the process that
 * let the device begin and saw its end? */
bool kf_worker_clock_lags(uint64_t device_ns, uint64_t host_ns);

#endif
