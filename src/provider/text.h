/*
 * text.h - text on its way to and from a model. Pure.
 */
#ifndef KF_PROVIDER_TEXT_H
#define KF_PROVIDER_TEXT_H

#include <kforge/provider.h>

#include "base/json.h"

/* All messages in order with an empty line between: what goes to providers
 * that know no roles. Caller frees. */
char *kf_text_join(const struct kf_ask *ask);
/* The same, and after it the paths of the pictures, a line each. */
char *kf_text_join_files(const struct kf_ask *ask);
bool kf_text_is_png(const void *bytes, size_t len);
/* Appends the bytes, four characters for three of them. */
void kf_text_base64(const void *bytes, size_t len, struct kf_buf *out);

/* The prompt as a service counts it: the bytes of all messages. */
size_t kf_text_bytes(const struct kf_ask *ask);

/* A JSON string, invalid bytes replaced. New reference. */
json_t *kf_text_string(const char *text);

/* JSON from a stranger: invalid bytes, lone surrogates and NUL in strings are
 * replaced by U+FFFD before it is read, a repeated key is not an error. NULL
 * if it is not JSON. New reference. */
json_t *kf_text_json(const char *text, size_t len);

/* A stranger's words made fit for a sentence: one line of valid UTF-8 without
 * control characters, cut to out, and "[key]" in place of the key (NULL: none)
 * and of every piece of it that is long enough to be worth stealing. */
void kf_text_quote(const char *text, size_t len, const char *key,
		   char *out, size_t out_bytes);

/* Adds "; line" to a note, or begins it. What does not fit is cut. */
void kf_text_note(struct kf_reply *reply, const char *fmt, ...)
	KF_PRINTF(2, 3);

#endif
