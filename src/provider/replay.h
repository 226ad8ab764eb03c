/*
 * replay.h - recorded replies: JSON lines that record writes and replay reads.
 *
 *	{"kforge_replay":1}
 *	{"problem":"softmax","attempt":1,"finish":"stop","text":"...", ...}
 *
 * docs/providers.md describes the members. The file is only ever appended to,
 * so what a kill can damage is its last line.
 */
#ifndef KF_REPLAY_H
#define KF_REPLAY_H

#include <kforge/provider.h>

#include "base/json.h"

#define KF_REPLAY_VERSION 1
#define KF_REPLAY_BYTES (256u << 20)	/* of a whole file */

struct kf_replay {
	json_t *entries;	/* owned; array of objects, in the file's order */
	size_t damaged_line;	/* number of a last line that was cut; 0: none */
	size_t whole_bytes;	/* of the lines before it */
};

/* what names the file in sentences. A member of a wrong type, a damaged line
 * before the last and an unknown version are KF_E_INPUT, with the line. */
KF_MUST_CHECK enum kf_code kf_replay_parse(const char *text, size_t len,
		const char *what, struct kf_replay *out, struct kf_err *err);
KF_MUST_CHECK enum kf_code kf_replay_read(const char *path,
		struct kf_replay *out, struct kf_err *err);
void kf_replay_release(struct kf_replay *replay);

/* The last entry for this problem, attempt and agent: what was asked twice was
 * used the second time. Borrowed; NULL if there is none. */
const json_t *kf_replay_find(const struct kf_replay *replay,
			     const struct kf_ask *ask);

/* An entry's members into an empty reply with its ceilings set. KF_E_LIMIT. */
KF_MUST_CHECK enum kf_code kf_replay_fill(const json_t *entry,
		struct kf_reply *reply, struct kf_err *err);
/* The entry for what was asked and answered. New reference. */
json_t *kf_replay_entry(const struct kf_ask *ask, const struct kf_reply *reply);

#endif
