/*
 * pack.h - several named byte strings in one file. What the builder of a
 * two-part platform leaves ("host": host.c as a shared object, "device": the
 * kernels' binary, perhaps "parameters": see twopart.h), and what a driver of
 * such a platform loads (all but "host", and "plans": see plan.h).
 *
 * Files come from processes that nobody trusts: kf_pack_read checks every
 * length.
 */
#ifndef KF_PLATFORM_PACK_H
#define KF_PLATFORM_PACK_H

#include "base/base.h"

#define KF_PACK_PARTS_MAX 8
#define KF_PACK_NAME_MAX 15

struct kf_pack_part {
	char name[KF_PACK_NAME_MAX + 1];	/* "[a-z]+" */
	const void *data;	/* in kf_pack.bytes, or the caller's */
	size_t len;
};

struct kf_pack {
	struct kf_pack_part part[KF_PACK_PARTS_MAX];
	size_t count;
	struct kf_buf bytes;	/* owned: the file */
};

KF_MUST_CHECK enum kf_code kf_pack_write(const char *path,
		const struct kf_pack_part *part, size_t count,
		struct kf_err *err);
/* At most max bytes; KF_E_INPUT with a sentence if it is no pack. */
KF_MUST_CHECK enum kf_code kf_pack_read(const char *path, size_t max,
		struct kf_pack *out, struct kf_err *err);
/* NULL if there is none of that name. */
const struct kf_pack_part *kf_pack_find(const struct kf_pack *pack,
					const char *name);
void kf_pack_release(struct kf_pack *pack);

#endif
