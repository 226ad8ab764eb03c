/*
 * safetensors_write.h - writes safetensors files: eight bytes of length, a
 * JSON header, the data.
 *
 * Every tensor begins at a multiple of 64 bytes of the file, so that a mapped
 * file can be used in place. The format allows no holes: small tensors named
 * "__pad.N" fill them, which safetensors.h passes over.
 */
#ifndef KF_PROBLEM_SAFETENSORS_WRITE_H
#define KF_PROBLEM_SAFETENSORS_WRITE_H

#include "problem/safetensors.h"

#define KF_SAFETENSORS_ALIGN 64u

/* Writes a new file, not synced; bytes is taken from dtype and shape. data may
 * be NULL where a tensor is empty. A full disk is KF_E_IO that says so. */
KF_MUST_CHECK enum kf_code kf_safetensors_write(const char *path,
		const struct kf_safe_tensor *tensor, size_t count,
		struct kf_err *err);
/* The same into a file that is open for writing; closes fd, which may be
 * negative: then errno tells why. path is for the sentence. */
KF_MUST_CHECK enum kf_code kf_safetensors_write_fd(int fd, const char *path,
		const struct kf_safe_tensor *tensor, size_t count,
		struct kf_err *err);

#endif
