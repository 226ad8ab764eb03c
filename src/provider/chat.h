/*
 * chat.h - the wire format of OpenAI's chat completions: requests out, bytes
 * of an answer in. Pure: knows no connection and no clock.
 *
 * Servers differ more than they say: the answer to "stream": true may be a
 * stream, one JSON object, or an error object, whatever the status and content
 * type claim. So the bytes decide. The same bytes give the same reply however
 * they are cut.
 */
#ifndef KF_PROVIDER_CHAT_H
#define KF_PROVIDER_CHAT_H

#include "provider/sse.h"
#include "provider/text.h"

/* Members of a request that some servers refuse; learnt from their errors. */
struct kf_chat_quirks {
	bool completion_tokens;		/* max_completion_tokens, not max_tokens */
	bool no_temperature;
	bool no_usage;			/* stream_options is not understood */
};

/* The body of a request: valid UTF-8 whatever the messages hold. Caller frees.
 * token_max 0 and temperature NaN are left out. */
char *kf_chat_request(const char *model, const struct kf_ask *ask,
		      unsigned token_max, const struct kf_chat_quirks *quirks);

/* An error object, in any of the forms that servers give it. */
struct kf_chat_error {
	bool seen;
	long status;		/* where code is a number; else 0 */
	char code[64], type[64], param[64];
	char message[512];	/* one line, key removed; never "" when seen */
	uint64_t prompt_tokens, window_tokens;	/* context errors; 0 unknown */
};

enum kf_chat_end {
	KF_CHAT_NONE,		/* nothing came, or nothing to be read as yet */
	KF_CHAT_WHOLE,		/* a reply; may be empty, that is the model's */
	KF_CHAT_BROKEN,		/* cut off or damaged on its way; ask again */
	KF_CHAT_ERROR,		/* error object, see error */
	KF_CHAT_TOO_LARGE,	/* over KF_REPLY_BYTES */
	KF_CHAT_STRANGE,	/* not this protocol: a web page, other JSON */
};

struct kf_chat {
	struct kf_reply *reply;	/* borrowed; text, reasoning ... go there */
	const char *key;	/* never to be quoted; NULL: none */
	struct kf_chat_error error;
	char strange[128];	/* beginning of what was not understood */
	bool complete;		/* nothing that follows can matter */
	/* private */
	enum { KF_BODY_UNKNOWN, KF_BODY_STREAM, KF_BODY_JSON,
	       KF_BODY_STRANGE } body;
	struct kf_sse sse;
	struct kf_buf whole, head;
	bool done, choice_seen, finish_seen, refusal_seen, damaged, too_large;
	unsigned skipped;	/* events that were not JSON */
	struct kf_buf refusal;
};

/* reply must be empty, with its ceilings set. */
void kf_chat_init(struct kf_chat *chat, struct kf_reply *reply,
		  const char *key);
/* False when nothing more is wanted. */
bool kf_chat_feed(struct kf_chat *chat, const char *bytes, size_t len);
/* The answer has ended, whether by itself or because it broke off. */
enum kf_chat_end kf_chat_end(struct kf_chat *chat);
void kf_chat_release(struct kf_chat *chat);

/* The body of an answer with an error status: fills *error from an error
 * object, or from the text itself. */
void kf_chat_error_read(const char *body, size_t len, const char *key,
			struct kf_chat_error *error);
void kf_chat_error_take(const json_t *object, const char *key,
			struct kf_chat_error *error);

enum kf_chat_cure {
	KF_CHAT_GIVE_UP,
	KF_CHAT_ADAPT,		/* *quirks was changed: send again at once */
	KF_CHAT_RETRY,		/* it may pass */
	KF_CHAT_CONTEXT,	/* prompt and reply do not fit the model */
};
/* What can be done about an error. Each quirk is learnt at most once, so this
 * cannot go on for ever. status: of HTTP, 200 for an error in a good answer. */
enum kf_chat_cure kf_chat_cure(const struct kf_chat_error *error, long status,
			       struct kf_chat_quirks *quirks);

#endif
