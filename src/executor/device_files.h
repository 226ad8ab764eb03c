/*
 * device_files.h - the files by which processes agree about a device: its lock
 * while it is timed, and its quarantine.
 *
 * The lock is one for all kforge processes of this machine, whoever's they are
 * and whatever their cache, and for all drivers that reach the same hardware:
 * a file that anybody may lock, in KF_DEVICE_LOCKS or the folder that the
 * variable KFORGE_DEVICE_LOCKS names (containers of one machine can share one).
 * The quarantine is the user's own, in the cache folder.
 */
#ifndef KF_EXECUTOR_DEVICE_FILES_H
#define KF_EXECUTOR_DEVICE_FILES_H

#include <kforge/driver.h>

#include "base/base.h"

#define KF_DEVICE_LOCKS "/tmp/kforge-devices"

/* Caller frees. Where the folder for all cannot be used that is said in the
 * log, and the lock is one in the cache (cache_path NULL: the user's). */
KF_MUST_CHECK enum kf_code kf_device_lock_path(
		const struct kf_device_info *device, const char *cache_path,
		const struct kf_log *log, char **out, struct kf_err *err);
/* CACHE/devices/MACHINE-cuda-0.quarantine: a cache may be shared by machines.
 * Caller frees. */
KF_MUST_CHECK enum kf_code kf_device_quarantine_path(const char *cache_path,
		const char *device_id, char **out, struct kf_err *err);

#endif
