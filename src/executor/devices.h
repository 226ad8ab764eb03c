/*
 * devices.h - which of a platform's devices judge here: the one that "cuda:1"
 * asks for, or several side by side.
 *
 * A device's number is the end of its name ("cuda:1" has 1). It stays the same
 * when others are hidden from this process (CUDA_VISIBLE_DEVICES).
 */
#ifndef KF_EXECUTOR_DEVICES_H
#define KF_EXECUTOR_DEVICES_H

#include "platform/platform.h"

#define KF_DEVICES_MAX 16	/* of one platform */

/* Numbers of devices, in the order asked for. */
struct kf_device_list {
	uint64_t number[KF_DEVICES_MAX];
	size_t count;			/* 0: all that are here */
};

struct kf_devices {
	struct kf_device_info info[KF_DEVICES_MAX];	/* owned */
	size_t count;
};

/* "all", or numbers: "0,2,3". KF_E_INPUT for anything else, and for a number
 * that is there twice. */
KF_MUST_CHECK enum kf_code kf_device_list_parse(const char *text,
		struct kf_device_list *out, struct kf_err *err);
/* As listed; with measured ceilings, if so wished. KF_E_UNAVAIL if one of them
 * is not here, and if none is; then *out is empty. */
KF_MUST_CHECK enum kf_code kf_devices_find(const struct kf_platform *platform,
		const struct kf_device_list *list, bool measure,
		struct kf_devices *out, struct kf_err *err);
/* Which of them are not in quarantine (cache_path NULL: in the user's cache);
 * all, if all are. Returns how many. */
size_t kf_devices_well(const struct kf_devices *devices,
		       const char *cache_path, size_t out[KF_DEVICES_MAX]);
void kf_devices_release(struct kf_devices *devices);

#endif
