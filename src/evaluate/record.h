/*
 * record.h - what the host part of a two-part program asks of its device.
 *
 * host.c, compiled to a shared object, is run twice at the same time in the
 * host sandbox (kforge-runner record), without device and data and with
 * different handles. What it asks for must be the same both times: these are
 * its plans (platform/plan.h), all that a driver needs of it from then on.
 *
 * Errors: trouble of ours is a kf_code. What the program did is in struct
 * kf_call_end, with KF_OK:
 *	LAUNCH		used launch.h wrongly; text says where and the way out
 *	NOT_REPEATABLE	the two differ; text names the first difference
 *	RC		kf_prepare or kf_forward returned something else than 0
 *	LOAD		it cannot be loaded, or defines no kf_forward
 *	SIGNAL, CPU, TIMEOUT, MEMORY, VIOLATION, EXITED, PROTOCOL
 * and the plans are empty unless it is GOOD.
 */
#ifndef KF_EVALUATE_RECORD_H
#define KF_EVALUATE_RECORD_H

#include "evaluate/worker.h"
#include "platform/plan.h"

/* Plenty for launching; host.c computes nothing. */
#define KF_RECORD_CPU_NS	(3 * KF_NS_PER_S)
#define KF_RECORD_WALL_NS	(5 * KF_NS_PER_S)

struct kf_record_job {
	const void *host;		/* the shared object: the pack's "host" */
	size_t host_bytes;
	const struct kf_bundle *bundle;	/* shapes, dtypes, names, scalars only */
	const char *work_dir;		/* ours; holds host.so meanwhile */
	uint64_t memory_max;	/* most that kf_temp and kf_keep may hold
				   together */
	/* Of each recording: processor time, and time by the clock on the wall
	 * from when host.c begins to be loaded. */
	uint64_t cpu_ns, wall_ns;
	enum kf_sandbox_tier tier_min;
	const volatile int *cancel;
};

/* Plans are to be released in any case. */
KF_MUST_CHECK enum kf_code kf_record_run(const struct kf_record_job *job,
		struct kf_plans *plans, struct kf_call_end *end,
		struct kf_err *err);

#endif
