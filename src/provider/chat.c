#include "provider/chat.h"

#include <math.h>

#define BODY_BYTES (96u << 20)	/* a full reply, escaped */

/* Pictures are parts beside the text, as data: URIs. */
static json_t *seen_content(const struct kf_ask *ask, const char *text)
{
	json_t *parts = json_pack("[{s:s, s:o}]", "type", "text", "text",
				  kf_text_string(text));

	for (size_t i = 0; i < ask->picture_count; i++) {
		const struct kf_picture *p = &ask->picture[i];
		struct kf_buf uri = { .max = 2 * KF_PICTURE_BYTES };

		kf_buf_puts(&uri, "data:image/png;base64,");
		kf_text_base64(p->png, p->bytes, &uri);
		json_array_append_new(parts, json_pack("{s:s, s:{s:s}}",
			"type", "image_url", "image_url", "url",
			kf_buf_str(&uri)));
		kf_buf_release(&uri);
	}
	return parts;
}

static json_t *content_of(const struct kf_ask *ask, size_t i)
{
	const char *text = ask->message[i].text;

	return ask->picture_count && i + 1 == ask->message_count ?
		seen_content(ask, text) : kf_text_string(text);
}

static json_t *messages_of(const struct kf_ask *ask)
{
	static const char *const role[] = {
		[KF_ROLE_SYSTEM] = "system",
		[KF_ROLE_USER] = "user",
		[KF_ROLE_ASSISTANT] = "assistant",
	};
	json_t *list = json_array();

	for (size_t i = 0; i < ask->message_count; i++)
		json_array_append_new(list, json_pack("{s:s, s:o}",
			"role", role[ask->message[i].role],
			"content", content_of(ask, i)));
	return list;
}

char *kf_chat_request(const char *model, const struct kf_ask *ask,
		      unsigned token_max, const struct kf_chat_quirks *quirks)
{
	json_t *body = json_object();
	char *text;

	json_object_set_new(body, "model", kf_text_string(model));
	json_object_set_new(body, "messages", messages_of(ask));
	json_object_set_new(body, "stream", json_true());
	if (!quirks->no_usage)
		json_object_set_new(body, "stream_options",
				    json_pack("{s:b}", "include_usage", 1));
	if (token_max)
		json_object_set_new(body, quirks->completion_tokens ?
				    "max_completion_tokens" : "max_tokens",
				    json_integer(token_max));
	if (!isnan(ask->temperature) && !quirks->no_temperature)
		json_object_set_new(body, "temperature",
				    kf_json_number(ask->temperature));
	text = kf_json_text(body);
	json_decref(body);
	return text;
}

static void add(struct kf_chat *chat, struct kf_buf *to, const json_t *string)
{
	if (!kf_buf_add(to, json_string_value(string),
			json_string_length(string)))
		chat->too_large = true;
}

/* Content is a string, or a list of parts: texts, and thoughts that may be
 * strings or lists themselves. Other parts (references) say nothing to us. */
static void add_content(struct kf_chat *chat, struct kf_buf *to,
			const json_t *content)
{
	const json_t *part;
	size_t i;

	if (json_is_string(content))
		add(chat, to, content);
	json_array_foreach(content, i, part) {
		const json_t *thought = json_object_get(part, "thinking");
		const json_t *text = json_object_get(part, "text");
		const json_t *nested;
		size_t k;

		if (json_is_string(part))
			add(chat, to, part);
		else if (json_is_string(thought))
			add(chat, &chat->reply->reasoning, thought);
		else if (json_is_string(text))
			add(chat, to, text);
		json_array_foreach(thought, k, nested)
			if (json_is_string(json_object_get(nested, "text")))
				add(chat, &chat->reply->reasoning,
				    json_object_get(nested, "text"));
	}
}

static void add_message(struct kf_chat *chat, const json_t *message)
{
	const json_t *reasoning = json_object_get(message,
						  "reasoning_content");
	const json_t *refusal = json_object_get(message, "refusal");

	/* Some send the same thoughts under both names. */
	if (!json_string_length(reasoning) && !json_is_array(reasoning))
		reasoning = json_object_get(message, "reasoning");
	add_content(chat, &chat->reply->reasoning, reasoning);
	add_content(chat, &chat->reply->text,
		    json_object_get(message, "content"));
	if (json_string_length(refusal)) {
		chat->refusal_seen = true;
		kf_buf_add(&chat->refusal, json_string_value(refusal),
			   json_string_length(refusal));
	}
}

static void take_finish(struct kf_chat *chat, const char *word)
{
	static const struct {
		const char *word;
		enum kf_reply_finish finish;
	} known[] = {
		{ "stop", KF_REPLY_STOP },
		{ "eos", KF_REPLY_STOP },
		{ "eos_token", KF_REPLY_STOP },
		{ "end_turn", KF_REPLY_STOP },
		{ "length", KF_REPLY_LENGTH },
		{ "max_tokens", KF_REPLY_LENGTH },
		{ "content_filter", KF_REPLY_REFUSED },
		{ "refusal", KF_REPLY_REFUSED },
	};
	struct kf_reply *reply = chat->reply;

	chat->finish_seen = true;
	reply->finish = KF_REPLY_OTHER;
	kf_text_quote(word, strlen(word), chat->key, reply->finish_text,
		      sizeof(reply->finish_text));
	for (size_t i = 0; i < KF_COUNT(known); i++)
		if (strcmp(word, known[i].word) == 0)
			reply->finish = known[i].finish;
}

static void take_choice(struct kf_chat *chat, const json_t *choice)
{
	const json_t *finish = json_object_get(choice, "finish_reason");
	const json_t *error = json_object_get(choice, "error");

	if (!json_is_object(choice) || kf_json_int(choice, "index", 0) != 0)
		return;
	if (error && !json_is_null(error)) {
		kf_chat_error_take(choice, chat->key, &chat->error);
		return;
	}
	chat->choice_seen = true;
	add_message(chat, json_object_get(choice, "delta"));
	add_message(chat, json_object_get(choice, "message"));
	if (json_string_length(finish))
		take_finish(chat, json_string_value(finish));
}

static void take_usage(struct kf_reply *reply, const json_t *usage)
{
	int64_t in = kf_json_int(usage, "prompt_tokens", -1);
	int64_t out = kf_json_int(usage, "completion_tokens", -1);

	if (in < 0 || out < 0)
		return;
	reply->tokens_reported = true;
	reply->tokens_in = (uint64_t)in;
	reply->tokens_out = (uint64_t)out;
}

/* A chunk of a stream or a whole answer: they differ only in "delta" and
 * "message". False if it is neither and no error. */
static bool take_object(struct kf_chat *chat, const json_t *object)
{
	const json_t *choices = json_object_get(object, "choices");
	const char *model = kf_json_str(object, "model", "");
	const json_t *choice;
	size_t i;

	kf_chat_error_take(object, chat->key, &chat->error);
	if (chat->error.seen)
		return true;
	if (*model && !chat->reply->model[0])
		kf_text_quote(model, strlen(model), chat->key,
			      chat->reply->model, sizeof(chat->reply->model));
	take_usage(chat->reply, json_object_get(object, "usage"));
	json_array_foreach(choices, i, choice)
		take_choice(chat, choice);
	return json_is_array(choices);
}

/* What is left of a chunk that was cut or damaged begins like one; anything
 * else is chatter that some proxy put in. */
static void take_other(struct kf_chat *chat, const char *name,
		       const char *data, size_t len)
{
	if (strcmp(name, "error") == 0)
		kf_chat_error_read(data, len, chat->key, &chat->error);
	else if (len && data[0] == '{')
		chat->damaged = true;
	else
		chat->skipped++;
}

static bool on_event(void *arg, const char *name, const char *data, size_t len)
{
	struct kf_chat *chat = arg;
	json_t *object;

	if (len == 6 && memcmp(data, "[DONE]", 6) == 0) {
		chat->done = true;
		chat->complete = true;
		return false;
	}
	object = kf_text_json(data, len);
	if (json_is_object(object)) {
		if (!take_object(chat, object) && strcmp(name, "error") == 0)
			kf_chat_error_read(data, len, chat->key, &chat->error);
	} else {
		take_other(chat, name, data, len);
	}
	json_decref(object);
	chat->complete = chat->error.seen || chat->damaged || chat->too_large;
	return !chat->complete;
}

void kf_chat_init(struct kf_chat *chat, struct kf_reply *reply,
		  const char *key)
{
	*chat = (struct kf_chat) {
		.reply = reply,
		.key = key,
		.whole.max = BODY_BYTES,
		.head.max = 256,
		.refusal.max = 4096,
	};
	kf_sse_init(&chat->sse, on_event, chat);
}

static void feed_body(struct kf_chat *chat, const char *bytes, size_t len)
{
	if (chat->body == KF_BODY_STREAM) {
		if (!kf_sse_feed(&chat->sse, bytes, len))
			chat->complete = true;
	} else if (chat->body == KF_BODY_STRANGE) {
		chat->complete = chat->head.len == chat->head.max;
	} else if (!kf_buf_add(&chat->whole, bytes, len)) {
		chat->too_large = true;
		chat->complete = true;
	}
}

/* The first byte that is neither space nor byte order mark decides. */
static void look_at_body(struct kf_chat *chat, char first)
{
	if (strchr(" \t\r\n\xef\xbb\xbf", first))
		return;
	if (first == '{' || first == '[')
		chat->body = KF_BODY_JSON;
	else
		chat->body = first == '<' ? KF_BODY_STRANGE : KF_BODY_STREAM;
}

bool kf_chat_feed(struct kf_chat *chat, const char *bytes, size_t len)
{
	size_t i = 0;

	while (chat->body == KF_BODY_UNKNOWN && i < len) {
		look_at_body(chat, bytes[i]);
		i += chat->body == KF_BODY_UNKNOWN;
	}
	if (i < len && !chat->complete) {
		kf_buf_add(&chat->head, bytes + i, len - i);
		feed_body(chat, bytes + i, len - i);
	}
	return !chat->complete;
}

static enum kf_chat_end end_json(struct kf_chat *chat)
{
	json_t *object = kf_text_json(kf_buf_str(&chat->whole),
				      chat->whole.len);
	enum kf_chat_end end = KF_CHAT_WHOLE;

	/* Google's compatible endpoint wraps its errors in a list. */
	if (!object)
		end = KF_CHAT_BROKEN;
	else if (!take_object(chat, json_is_array(object) ?
			      json_array_get(object, 0) : object))
		end = KF_CHAT_STRANGE;
	else if (!chat->choice_seen)
		end = KF_CHAT_BROKEN;
	json_decref(object);
	return end;
}

/* Is what came the beginning of an event stream at all? */
static bool is_stream(const struct kf_chat *chat)
{
	static const char *const field[] = {
		":", "data:", "event:", "id:", "retry:",
	};
	const char *head = kf_buf_str(&chat->head);

	for (size_t i = 0; i < KF_COUNT(field); i++) {
		size_t n = strlen(field[i]);

		if (n > chat->head.len)
			n = chat->head.len;
		if (memcmp(head, field[i], n) == 0)
			return true;
	}
	return false;
}

/* A reason for the end, or [DONE], says that all of it came; damage after the
 * reason costs no more than the count of tokens. */
static enum kf_chat_end end_stream(struct kf_chat *chat)
{
	kf_sse_end(&chat->sse);
	if (chat->sse.too_large)
		chat->too_large = true;
	if (chat->finish_seen || (chat->done && chat->choice_seen))
		return KF_CHAT_WHOLE;
	return is_stream(chat) ? KF_CHAT_BROKEN : KF_CHAT_STRANGE;
}

static void finish_reply(struct kf_chat *chat)
{
	struct kf_reply *reply = chat->reply;

	if (chat->refusal_seen || reply->finish == KF_REPLY_REFUSED) {
		char words[160];

		kf_text_quote(kf_buf_str(&chat->refusal), chat->refusal.len,
			      chat->key, words, sizeof(words));
		reply->finish = KF_REPLY_REFUSED;
		if (words[0])
			kf_text_note(reply, "the model refused: %s", words);
	}
	if (!chat->finish_seen)
		kf_text_note(reply, "the service did not say why it ended");
	if (chat->skipped)
		kf_text_note(reply, "skipped %u events that were not JSON",
			     chat->skipped);
	if (!reply->text.len && reply->reasoning.len)
		kf_text_note(reply, "no text, only %zu bytes of reasoning",
			     reply->reasoning.len);
}

enum kf_chat_end kf_chat_end(struct kf_chat *chat)
{
	static enum kf_chat_end (*const end_of[])(struct kf_chat *) = {
		[KF_BODY_JSON] = end_json,
		[KF_BODY_STREAM] = end_stream,
	};
	enum kf_chat_end end = KF_CHAT_BROKEN;

	if (chat->body == KF_BODY_STRANGE)
		end = KF_CHAT_STRANGE;
	else if (chat->body != KF_BODY_UNKNOWN && !chat->too_large)
		end = end_of[chat->body](chat);
	if (chat->too_large)
		end = KF_CHAT_TOO_LARGE;
	if (chat->error.seen)
		end = KF_CHAT_ERROR;
	if (end == KF_CHAT_STRANGE)
		kf_text_quote(kf_buf_str(&chat->head), chat->head.len,
			      chat->key, chat->strange, sizeof(chat->strange));
	if (end == KF_CHAT_WHOLE)
		finish_reply(chat);
	return end;
}

void kf_chat_release(struct kf_chat *chat)
{
	kf_sse_release(&chat->sse);
	kf_buf_release(&chat->whole);
	kf_buf_release(&chat->head);
	kf_buf_release(&chat->refusal);
}
