/*
 * safetensors.h - reads safetensors files, mapped into memory.
 *
 * Nothing in a file is believed: lengths, offsets, shapes and types are
 * checked against each other and the file's size before a tensor is shown.
 * The data must be covered by the tensors without holes or overlaps, as the
 * format has it, and each tensor must be aligned for its type.
 */
#ifndef KF_PROBLEM_SAFETENSORS_H
#define KF_PROBLEM_SAFETENSORS_H

#include "base/json.h"

struct kf_safe_tensor {
	const char *name;	/* borrowed from the file's header */
	enum kf_dtype dtype;
	int rank;
	int64_t shape[KF_MAX_RANK];
	const void *data;	/* in the file's memory */
	size_t bytes;
};

struct kf_safetensors {
	struct kf_safe_tensor *tensor;	/* owned; by place in the file */
	size_t count;			/* without the "__pad" tensors */
	json_t *header;			/* owned; private */
	void *map;			/* owned; NULL if only parsed */
	size_t map_bytes;
};

/* bytes are borrowed as long as *out lives, and aligned to 64. what names
 * them in the sentence. KF_E_INPUT for anything malformed. Pure. */
KF_MUST_CHECK enum kf_code kf_safetensors_parse(const void *bytes, size_t len,
		const char *what, struct kf_safetensors *out,
		struct kf_err *err);
/* Maps the regular file fd, read-only; the caller still closes fd. */
KF_MUST_CHECK enum kf_code kf_safetensors_map(int fd, const char *what,
		struct kf_safetensors *out, struct kf_err *err);
/* NULL if there is none of that name. */
const struct kf_safe_tensor *kf_safetensors_get(
		const struct kf_safetensors *file, const char *name);
/* What the format calls a type: "F32"; "" if it has none. */
const char *kf_safetensors_type(enum kf_dtype dtype);
void kf_safetensors_release(struct kf_safetensors *file);

#endif
