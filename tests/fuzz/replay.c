/*
 * A recording in any bytes is read or refused, and what was read can be
 * replayed.
 */
#include "provider/replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct kf_buf text = { .max = len + 100 };
	struct kf_replay replay;
	struct kf_err err;
	size_t i;
	const json_t *entry;

	if (len && bytes[0] & 1)
		kf_buf_puts(&text, "{\"kforge_replay\":1}\n");
	kf_buf_add(&text, bytes, len);
	if (kf_replay_parse(kf_buf_str(&text), text.len, "x", &replay, &err))
		goto out;
	json_array_foreach(replay.entries, i, entry) {
		struct kf_reply reply = {
			.text.max = KF_REPLY_BYTES,
			.reasoning.max = KF_REPLY_BYTES,
		};

		if (kf_replay_fill(entry, &reply, &err))
			abort();
		kf_reply_release(&reply);
	}
	if (replay.whole_bytes > text.len)
		abort();
out:
	kf_replay_release(&replay);
	kf_buf_release(&text);
	return 0;
}
