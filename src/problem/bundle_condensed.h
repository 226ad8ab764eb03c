/*
 * bundle_condensed.h - what bundle_load.c and bundle_condensed.c share. Inner
 * header of src/problem.
 */
#ifndef KF_PROBLEM_BUNDLE_CONDENSED_H
#define KF_PROBLEM_BUNDLE_CONDENSED_H

#include "problem/problem.h"
#include "problem/safetensors.h"

/* Everything that the bundle's pointers point into. */
struct kf_bundle_maps {
	struct kf_safetensors *file;
	size_t count;
	json_t *seeds;		/* owned; holds the kinds of all cases */
	int used_fd;		/* of bundle_use.h; -1: none */
};

struct kf_bundle_loader {
	int folder_fd;
	struct kf_bundle *bundle;
	struct kf_bundle_maps *maps;
	const struct kf_safetensors *base;	/* the kept inputs; condensed */
	struct kf_err *err;
};

/* The named tensor's data if it has info's shape and this type. */
KF_MUST_CHECK enum kf_code kf_bundle_find(const struct kf_bundle_loader *l,
		const struct kf_safetensors *file, const char *name,
		const struct kf_tensor_info *info, enum kf_dtype dtype,
		const void **out);

/* Fills in c->in, which is there, and c->fresh, from a case's own file. */
KF_MUST_CHECK enum kf_code kf_condensed_inputs(
		const struct kf_bundle_loader *l,
		const struct kf_safetensors *file, struct kf_case *c);
/* Fills in c->digest. *window (caller frees): of each output the type, and the
 * shape that its windows have in the file. */
KF_MUST_CHECK enum kf_code kf_condensed_outputs(
		const struct kf_bundle_loader *l,
		const struct kf_safetensors *file, struct kf_case *c,
		struct kf_tensor_info **window);

#endif
