/*
 * targets.h - what judgements need, kept open from one to the next: a platform
 * with its device, the problem's bundle, a baseline that runs.
 *
 * A process that judges many programs for a few problems opens each once. At
 * most KF_TARGETS_MAX stay open; the one that was not used for longest goes. Of
 * those with a live baseline on a device only one stays: PyTorch keeps memory.
 */
#ifndef KF_EXECUTOR_TARGETS_H
#define KF_EXECUTOR_TARGETS_H

#include "executor/devices.h"
#include "executor/job.h"

#define KF_TARGETS_MAX 8

/* Jobs that name this platform, without a device, are judged on that
 * of these of its devices whose turn is `number`, a process's own. One that is
 * in quarantine is passed over as long as another is not. */
struct kf_device_share {
	const char *platform;		/* NULL: each on the first that is here */
	struct kf_device_list list;
	unsigned number;
};

/* What the judging process itself brings, beside the job. */
struct kf_targets_spec {
	const char *python, *cache_path;	/* NULL: found */
	uint64_t threads;		/* for jobs that do not say; 0: all */
	unsigned at_once;		/* as in struct kf_setup_spec */
	struct kf_device_share share;
	enum kf_sandbox_tier tier_min;	/* also for jobs that ask for less */
	const struct kf_log *log;
	const volatile int *cancel;
};

struct kf_targets;

/* The spec's strings are borrowed. */
struct kf_targets *kf_targets_new(const struct kf_targets_spec *spec)
	KF_NEVER_NULL;
/* The job's problem alone. Its path is taken from folder (NULL: as it is). */
KF_MUST_CHECK enum kf_code kf_targets_problem(const struct kf_job *job,
		const char *folder, struct kf_problem *out,
		struct kf_err *err);
/* The job's problem, read anew each time: a file that has changed is another
 * problem. *setup and *target are valid until the next call; a live baseline is
 * started only for jobs that come to times. A problem that has not the hash
 * asked for is KF_E_INPUT. */
KF_MUST_CHECK enum kf_code kf_targets_get(struct kf_targets *targets,
		const struct kf_job *job, const char *folder,
		struct kf_setup **setup, struct kf_target **target,
		struct kf_err *err);
/* Lets go of one that has failed, so that it is opened anew: its baseline may
 * be dead. */
void kf_targets_drop(struct kf_targets *targets,
		     const struct kf_target *target);
void kf_targets_free(struct kf_targets *targets);

#endif
