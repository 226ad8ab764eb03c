/*
 * devices.h - which of a platform's devices judge here: the one that "cuda:1"
 * or "cuda:h200" asks for, or several side by side.
 *
 * A device's number is the end of its id ("cuda:1" has 1). It stays the same
 * when others are hidden from this process (CUDA_VISIBLE_DEVICES), but not when
 * there are more or fewer of them: people may call a device by its name, or the
 * beginning of its UUID. That is looked up once; from then on it has its id.
 */
#ifndef KF_EXECUTOR_DEVICES_H
#define KF_EXECUTOR_DEVICES_H

#include "evaluate/device.h"
#include "platform/platform.h"

#define KF_DEVICES_MAX 16	/* of one platform */

/* How somebody says which device. */
struct kf_device_word {
	char name[96];			/* a part of its name or of its
					   driver's, whatever the case; or all
					   of its name, which goes before parts
					   of others'; or the beginning of its
					   UUID, "GPU-1a2b"; "": it has a
					   number */
	uint64_t number;
};

/* In the order asked for. */
struct kf_device_list {
	struct kf_device_word word[KF_DEVICES_MAX];
	size_t count;			/* 0: all that are here */
};

struct kf_devices {
	struct kf_device_info info[KF_DEVICES_MAX];	/* owned */
	size_t count;
};

/* Digits are a number, what has a letter is a name; false for anything else. */
bool kf_device_word_read(const char *text, struct kf_device_word *out);
/* What a platform's name asks for: "cuda:1", "cuda:h200" for one, "cuda" for
 * none in particular (count is 0). KF_E_INPUT where the colon is followed by
 * neither a number nor a name. */
KF_MUST_CHECK enum kf_code kf_device_wanted(const char *platform_name,
		struct kf_device_list *out, struct kf_err *err);
/* "all", or numbers and names: "0,2,h200". KF_E_INPUT for anything else, and
 * for a number that is there twice. */
KF_MUST_CHECK enum kf_code kf_device_list_parse(const char *text,
		struct kf_device_list *out, struct kf_err *err);
/* As listed. KF_E_UNAVAIL if one of them is not here, or several have such a
 * name, and if none is here; KF_E_INPUT if one is listed twice; then *out is
 * empty. */
KF_MUST_CHECK enum kf_code kf_devices_find(const struct kf_platform *platform,
		const struct kf_device_list *list, struct kf_devices *out,
		struct kf_err *err);
/* The one that is listed, or the first where the list is empty; looks at no
 * other if the driver can do without. Errors as kf_devices_find's. The caller
 * releases it. */
KF_MUST_CHECK enum kf_code kf_devices_find_one(
		const struct kf_platform *platform,
		const struct kf_device_list *list, struct kf_device_info *out,
		struct kf_err *err);
/* "NAME:N", by which the platform of this name has the device; caller frees. */
char *kf_device_place(const char *platform_name,
		      const struct kf_device_info *device) KF_NEVER_NULL;
/* The device's card again, with measured ceilings. Nobody computes there
 * meanwhile: the lock of wait is waited for. */
KF_MUST_CHECK enum kf_code kf_device_measure(const struct kf_platform *platform,
		const struct kf_device_wait *wait,
		struct kf_device_info *device, struct kf_err *err);
/* Which of them are not in quarantine (cache_path NULL: in the user's cache);
 * all, if all are. Returns how many. */
size_t kf_devices_well(const struct kf_devices *devices,
		       const char *cache_path, size_t out[KF_DEVICES_MAX]);
void kf_devices_release(struct kf_devices *devices);

#endif
