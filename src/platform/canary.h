/*
 * canary.h - does a device still compute? What drivers share that run a small
 * program of kforge's own with a known answer: a process of its own, killed at
 * a deadline, so that a device that hangs holds nobody up.
 */
#ifndef KF_PLATFORM_CANARY_H
#define KF_PLATFORM_CANARY_H

#include "base/base.h"

/* Runs in the child, which ends afterwards: nothing need be given back. Any
 * code but KF_OK, with its sentence, says that the device does not compute;
 * but KF_E_LIMIT that there was no room on it to find out. */
typedef enum kf_code kf_canary_fn(const char *device_id, struct kf_err *err);

/* Its code; KF_E_UNAVAIL if it crashed, or did not end. */
KF_MUST_CHECK enum kf_code kf_canary_run(kf_canary_fn *sing,
		const char *device_id, uint64_t timeout_ns,
		struct kf_err *err);

#endif
