/*
 * bundle_use.h - who uses a bundle of the cache, and which of them may go.
 *
 * Beside each lies KEY.used: whoever has the bundle open shares its lock, and
 * the file's time says when that last began. Part of bundle_cache.c.
 */
#ifndef KF_PROBLEM_BUNDLE_USE_H
#define KF_PROBLEM_BUNDLE_USE_H

#include "problem/problem.h"

/* entry: .../bundles/KEY, which need not be there. Returns a descriptor to be
 * closed when the bundle is no longer used; -1 where files cannot be locked,
 * or it was canceled. Waits while that very bundle is being removed. */
int kf_bundle_use(const char *entry, const volatile int *cancel);

/* Removes bundles in folder that nobody uses, those used longest ago first,
 * until all together take no more than so many bytes, and no more than is free
 * (each that goes makes room); returns how many were removed, and their bytes.
 * What cannot be removed, or is somebody else's, is left; nothing is done
 * while another process does the same. */
unsigned kf_bundle_trim_to(const char *folder, uint64_t bytes,
			   uint64_t free_bytes, uint64_t *removed_bytes);
/* The same until they take no more of the disk than they leave free there. */
void kf_bundle_trim(const char *folder, const struct kf_log *log);

#endif
