/*
 * record.h - keeps what a model replied, in replay's format.
 *
 * Each entry is one write and on disk before kf_record_add returns. A file
 * that a kill left with half a line loses that half when it is next opened.
 */
#ifndef KF_RECORD_H
#define KF_RECORD_H

#include <kforge/provider.h>

struct kf_record;

/* Makes the file with its header, or checks the one that is there. */
KF_MUST_CHECK enum kf_code kf_record_open(const char *path,
		struct kf_record **out, struct kf_err *err);
KF_MUST_CHECK enum kf_code kf_record_add(struct kf_record *record,
		const struct kf_ask *ask, const struct kf_reply *reply,
		struct kf_err *err);
/* Room on the disk for one more entry of so many bytes. KF_E_IO where there is
 * none; a file system that cannot reserve is trusted to have it. */
KF_MUST_CHECK enum kf_code kf_record_reserve(struct kf_record *record,
		size_t bytes, struct kf_err *err);
/* Forgets every entry. A failure leaves them, and is told by the next add. */
void kf_record_clear(struct kf_record *record);
void kf_record_close(struct kf_record *record);	/* NULL is allowed */

#endif
