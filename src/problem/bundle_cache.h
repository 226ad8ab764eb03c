/*
 * bundle_cache.h - bundles kept by content, made whole or not at all.
 * For those that make bundles; users need problem.h only.
 */
#ifndef KF_PROBLEM_BUNDLE_CACHE_H
#define KF_PROBLEM_BUNDLE_CACHE_H

#include "problem/problem.h"

#define KF_BUNDLE_BYTES (UINT64_C(6) << 30)	/* the largest that keeps all data;
					   beyond it is condensed */

/* What this machine has for a bundle that is made in folder. */
struct kf_bundle_limits {
	uint64_t room_bytes;	/* half of what is free there */
	uint64_t whole_bytes;	/* of one that keeps all data: no more than
				   that, nor than a third of the memory that
				   references may use, nor than
				   KF_BUNDLE_BYTES or KFORGE_BUNDLE_GB */
};
void kf_bundle_limits_find(const struct kf_problem_spec *spec,
			   const char *folder, struct kf_bundle_limits *out);

struct kf_bundle_maker {
	const char *content;	/* everything that decides what is in it */
	/* Writes public/, inputs/ and oracle/ into out_folder; job_folder is
	 * for its own use. Both are there and empty. */
	enum kf_code (*make)(void *arg, const char *job_folder,
			     const char *out_folder, struct kf_err *err);
	void *arg;
};

/* The bundle with this content, from the cache or made: one process makes it,
 * others wait; it is read back and synced before it gets its name; what is
 * half made is removed. */
KF_MUST_CHECK enum kf_code kf_bundle_cached(const struct kf_problem_spec *spec,
		const struct kf_problem *problem,
		const struct kf_bundle_maker *maker, struct kf_bundle *out,
		struct kf_err *err);

#endif
