/*
 * device.h - one program at a time is timed on a device, whichever process of
 * this machine asks: a lock, and the wait for it. Who computes there without
 * timing, and would disturb who does, shares it: timing waits for them, and
 * they wait for it.
 */
#ifndef KF_EVALUATE_DEVICE_H
#define KF_EVALUATE_DEVICE_H

#include "base/base.h"

/* What a judgement waits at most, and how often it says so meanwhile. */
#define KF_DEVICE_WAIT_NS	(1800 * KF_NS_PER_S)
#define KF_DEVICE_NOTICE_NS	(60 * KF_NS_PER_S)

struct kf_device_wait {
	const char *lock_path, *device_id;
	uint64_t timeout_ns, notice_ns;
	const struct kf_log *log;
	const volatile int *cancel;	/* NULL, or becomes non-zero to stop */
};

/* As a judgement waits. It borrows all four. */
static inline struct kf_device_wait kf_device_wait_usual(
		const char *lock_path, const char *device_id,
		const struct kf_log *log, const volatile int *cancel)
{
	return (struct kf_device_wait) {
		.lock_path = lock_path, .device_id = device_id,
		.timeout_ns = KF_DEVICE_WAIT_NS,
		.notice_ns = KF_DEVICE_NOTICE_NS,
		.log = log, .cancel = cancel,
	};
}

/* A line in the log at once if others have it, and again every notice_ns.
 * KF_E_TIMEOUT says who holds it. *waited_ns is 0 if it was free. */
KF_MUST_CHECK enum kf_code kf_device_lock(const struct kf_device_wait *wait,
		struct kf_lock *out, uint64_t *waited_ns, struct kf_err *err);
/* The same, shared, to compute. Who already waits to time goes first. */
KF_MUST_CHECK enum kf_code kf_device_share(const struct kf_device_wait *wait,
		struct kf_lock *out, uint64_t *waited_ns, struct kf_err *err);

#endif
