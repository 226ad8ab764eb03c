/*
 * bundle_load.h - a bundle's folder into memory, believing nothing in it.
 * Inner header of src/problem.
 */
#ifndef KF_PROBLEM_BUNDLE_LOAD_H
#define KF_PROBLEM_BUNDLE_LOAD_H

#include "problem/problem.h"

#define KF_BUNDLE_FORMAT 8

/* KF_E_INPUT if anything is missing, malformed or does not fit together; *out
 * is then empty. Links are not followed. */
KF_MUST_CHECK enum kf_code kf_bundle_load(const char *folder,
		struct kf_bundle *out, struct kf_err *err);

/* From public/bundle.json alone (borrowed): what a prompt needs, and no data,
 * no sets, no stock. */
KF_MUST_CHECK enum kf_code kf_bundle_from_info(const json_t *info,
		struct kf_bundle *out, struct kf_err *err);

#endif
