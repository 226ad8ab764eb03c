/*
 * An answer in any bytes, cut in any way, is judged the same; an error body in
 * any bytes has a cure. The first byte chooses the cutting.
 */
#include "provider/chat.h"

#define KEY "sk-0123456789abcdef"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

struct seen {
	enum kf_chat_end end;
	struct kf_reply reply;
	struct kf_chat_error error;
};

static void read_answer(const char *bytes, size_t len, struct kf_rng *cut,
			struct seen *seen)
{
	struct kf_chat chat;
	size_t at = 0;

	memset(seen, 0, sizeof(*seen));
	seen->reply.text.max = KF_REPLY_BYTES;
	seen->reply.reasoning.max = KF_REPLY_BYTES;
	kf_chat_init(&chat, &seen->reply, KEY);
	while (at < len) {
		size_t n = cut ? 1 + kf_rng_below(cut, 16) : len;

		if (n > len - at)
			n = len - at;
		if (!kf_chat_feed(&chat, bytes + at, n))
			break;
		at += n;
	}
	seen->end = kf_chat_end(&chat);
	seen->error = chat.error;
	kf_chat_release(&chat);
}

static void must_be_same(const struct kf_buf *a, const struct kf_buf *b)
{
	if (a->len != b->len || memcmp(kf_buf_str(a), kf_buf_str(b), a->len))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct kf_rng cut = { len ? bytes[0] : 0 };
	struct kf_chat_quirks quirks = { 0 };
	struct seen whole, pieces;

	if (!len)
		return 0;
	read_answer((const char *)bytes + 1, len - 1, NULL, &whole);
	read_answer((const char *)bytes + 1, len - 1, &cut, &pieces);
	if (whole.end != pieces.end ||
	    whole.reply.finish != pieces.reply.finish ||
	    strcmp(whole.reply.note, pieces.reply.note) ||
	    strcmp(whole.error.message, pieces.error.message) ||
	    strstr(whole.error.message, KEY) || strstr(whole.reply.note, KEY))
		abort();
	must_be_same(&whole.reply.text, &pieces.reply.text);
	must_be_same(&whole.reply.reasoning, &pieces.reply.reasoning);
	kf_reply_release(&whole.reply);
	kf_reply_release(&pieces.reply);

	kf_chat_error_read((const char *)bytes + 1, len - 1, KEY, &whole.error);
	for (int i = 0; i < 4; i++)	/* three quirks can be learnt */
		if (kf_chat_cure(&whole.error, 400, &quirks) != KF_CHAT_ADAPT)
			return 0;
	abort();
}
