/*
 * recorder.h - stands in for a device while the host part of a two-part program
 * runs: gives handles instead of memory, and writes down what is asked for.
 *
 *	record.c	the mode: load, run, hand over
 *	recorder.c	memory: handles, kf_temp, kf_keep
 *	recorder_op.c	launches, fills and copies
 *
 * The first mistake is kept in the plan, and every later call fails.
 */
#ifndef KF_RUNNER_RECORDER_H
#define KF_RUNNER_RECORDER_H

#include "platform/plan.h"
#include "runner/runner.h"

/* What one handle number stands for. Numbers: slots of kf_keep, tensors, then
 * every kf_temp of kf_prepare and of kf_forward. */
struct kf_recorder_memory {
	bool given;			/* its handle has been handed out */
	bool gone;			/* scratch of a call that is over */
	enum kf_plan_memory memory;
	uint32_t index;
	uint64_t bytes;
	uint32_t buffer;		/* in this plan, and one; 0: not in it */
	char name[32];			/* "input 0" */
};

struct kf_recorder {
	struct kf_runner_tensors tensors;
	struct kf_launch_table table;
	struct kf_plans plans;
	struct kf_plan *plan;		/* that is written now */
	bool preparing;
	uint64_t salt;			/* in its place in a handle */
	struct kf_recorder_memory memory[KF_RECORD_NUMBERS];
	size_t memory_count;
	uint32_t temp_count;		/* in this plan */
	uint64_t held_bytes, kept_bytes;
	size_t op_room, buffer_room;	/* of the plan's arrays */
	struct kf_buf written;		/* to measure operations with */
	size_t written_bytes;
};

/* tensors are open. */
enum kf_code kf_recorder_init(struct kf_recorder *recorder, uint32_t salt,
			      struct kf_err *err);
/* Records one function. True if it returned 0 without a mistake. */
bool kf_recorder_run(struct kf_recorder *recorder,
		     int (*function)(struct kf_call *c), bool preparing);
/* What value is a handle of, NULL if it is none. Async-signal-safe. */
const char *kf_recorder_handle(const void *recorder, uint64_t value);

/* --- between the parts --------------------------------------------------- */
/* Keeps the sentence if it is the first, and returns what a failed call
 * returns. */
int kf_recorder_mistake(struct kf_recorder *recorder, const char *fmt, ...)
	KF_PRINTF(2, 3);
bool kf_recorder_failed(const struct kf_recorder *recorder);
/* Finds the place that a handle names. False: *why is what it is instead, to
 * follow the name of a call and an argument. */
bool kf_recorder_place(struct kf_recorder *recorder, const void *handle,
		       struct kf_plan_place *place, char why[128]);
extern const struct kf_launch_table kf_recorder_table;

#endif
