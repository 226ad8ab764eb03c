#include "provider/chat.h"

#include <ctype.h>

#include "provider/retry.h"

static void copy(char *out, size_t out_bytes, const json_t *value,
		 const char *key)
{
	if (json_is_string(value))
		kf_text_quote(json_string_value(value),
			      json_string_length(value), key, out, out_bytes);
	else if (json_is_integer(value))
		snprintf(out, out_bytes, "%lld",
			 (long long)json_integer_value(value));
}

/* The number that stands next to a phrase: after it, or before it. 0: none. */
static uint64_t number_after(const char *text, const char *phrase)
{
	const char *at = strstr(text, phrase);
	uint64_t value = 0;

	if (!at)
		return 0;
	at += strlen(phrase);
	for (size_t i = 0; i < 12 && isdigit((unsigned char)at[i]); i++)
		value = value * 10 + (uint64_t)(at[i] - '0');
	return value;
}

static uint64_t number_before(const char *text, const char *phrase)
{
	const char *at = strstr(text, phrase);
	uint64_t value = 0, unit = 1;

	while (at && at > text && isdigit((unsigned char)at[-1]) &&
	       unit <= UINT64_C(100000000000)) {
		at--;
		value += (uint64_t)(*at - '0') * unit;
		unit *= 10;
	}
	return value;
}

static void find_numbers(const json_t *error, struct kf_chat_error *out)
{
	static const char *const window[] = {
		"maximum context length is ", "context window of ",
		"context size of ", "context size (",
	};
	static const char *const prompt[] = {
		" in the messages", " input tokens", " tokens in the prompt",
		" in your prompt",
	};
	int64_t n_prompt = kf_json_int(error, "n_prompt_tokens", 0);
	int64_t n_window = kf_json_int(error, "n_ctx", 0);

	out->prompt_tokens = n_prompt > 0 ? (uint64_t)n_prompt : 0;
	out->window_tokens = n_window > 0 ? (uint64_t)n_window : 0;
	for (size_t i = 0; i < KF_COUNT(window) && !out->window_tokens; i++)
		out->window_tokens = number_after(out->message, window[i]);
	for (size_t i = 0; i < KF_COUNT(prompt) && !out->prompt_tokens; i++)
		out->prompt_tokens = number_before(out->message, prompt[i]);
}

/* {"error": {...}}, {"error": "words"}, vLLM's {"object": "error", ...} and
 * FastAPI's {"detail": ...}. */
static const json_t *error_in(const json_t *object)
{
	const json_t *error = json_object_get(object, "error");

	if (json_is_object(error) || json_is_string(error))
		return error;
	if (strcmp(kf_json_str(object, "object", ""), "error") == 0)
		return object;
	if (json_object_get(object, "choices"))
		return NULL;
	return json_object_get(object, "detail");
}

void kf_chat_error_take(const json_t *object, const char *key,
			struct kf_chat_error *out)
{
	const json_t *error = error_in(object);
	const json_t *code = json_object_get(error, "code");
	char *raw = NULL;

	if (!error || json_is_null(error))
		return;
	*out = (struct kf_chat_error) { .seen = true };
	copy(out->code, sizeof(out->code), code, key);
	copy(out->type, sizeof(out->type), json_object_get(error, "type"),
	     key);
	copy(out->param, sizeof(out->param), json_object_get(error, "param"),
	     key);
	copy(out->message, sizeof(out->message),
	     json_is_string(error) ? error : json_object_get(error, "message"),
	     key);
	if (!out->message[0]) {
		raw = kf_json_text(error);
		kf_text_quote(raw, strlen(raw), key, out->message,
			      sizeof(out->message));
		free(raw);
	}
	if (json_is_integer(code) && json_integer_value(code) >= 100 &&
	    json_integer_value(code) <= 599)
		out->status = (long)json_integer_value(code);
	find_numbers(error, out);
}

void kf_chat_error_read(const char *body, size_t len, const char *key,
			struct kf_chat_error *out)
{
	json_t *object = kf_text_json(body, len);

	*out = (struct kf_chat_error) { 0 };
	kf_chat_error_take(json_is_array(object) ? json_array_get(object, 0) :
			   object, key, out);
	if (!out->seen) {
		out->seen = true;
		kf_text_quote(body, len, key, out->message,
			      sizeof(out->message));
		if (!out->message[0])
			snprintf(out->message, sizeof(out->message),
				 "no reason given");
	}
	json_decref(object);
}

static bool any_of(const char *text, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcasestr(text, words[i]))
			return true;
	return false;
}

/* Does the error say that this member of the request is not for this model?
 * By param and code where they are given, else by its words. */
static bool refuses(const struct kf_chat_error *error, const char *member)
{
	static const char *const unsupported[] = {
		"unsupported", "not supported", "not support", "unrecognized",
		"extra inputs are not permitted", "extra_forbidden",
		"unknown parameter", "unknown_parameter",
	};
	const size_t count = KF_COUNT(unsupported);

	if (error->param[0] && strcmp(error->param, member))
		return false;
	if (!error->param[0] && !strstr(error->message, member))
		return false;
	return any_of(error->code, unsupported, count) ||
		any_of(error->message, unsupported, count);
}

static bool learn(bool *quirk, bool refused)
{
	bool news = refused && !*quirk;

	*quirk |= refused;
	return news;
}

static bool is_context(const struct kf_chat_error *error)
{
	static const char *const code[] = {
		"context_length_exceeded", "exceed_context_size",
	};
	static const char *const words[] = {
		"maximum context length", "context window", "context length",
		"context size", "prompt is too long",
		"max_tokens must be at least 1",
	};

	return any_of(error->code, code, KF_COUNT(code)) ||
		any_of(error->type, code, KF_COUNT(code)) ||
		any_of(error->message, words, KF_COUNT(words));
}

/* Errors whose status does not tell, or was lost on the way. */
static bool is_final(const struct kf_chat_error *error)
{
	static const char *const word[] = {
		"insufficient_quota", "billing", "invalid_request",
		"invalid_api_key", "authentication", "permission",
		"model_not_found", "not_found",
	};

	return any_of(error->code, word, KF_COUNT(word)) ||
		any_of(error->type, word, KF_COUNT(word));
}

enum kf_chat_cure kf_chat_cure(const struct kf_chat_error *error, long status,
			       struct kf_chat_quirks *quirks)
{
	bool names_it = strcmp(error->param, "max_tokens") == 0 ||
		strstr(error->message, "max_completion_tokens");

	/* First, for llama.cpp has 500 in the body of a context error. */
	if (is_context(error))
		return KF_CHAT_CONTEXT;
	if (status == 200)
		status = error->status ? error->status : 500;
	if (status == 400 || status == 422) {
		if (names_it && learn(&quirks->completion_tokens,
				      refuses(error, "max_tokens")))
			return KF_CHAT_ADAPT;
		if (learn(&quirks->no_temperature,
			  refuses(error, "temperature")) ||
		    learn(&quirks->no_usage, refuses(error, "stream_options")))
			return KF_CHAT_ADAPT;
	}
	if (is_final(error) || !(status == 0 || kf_retry_status(status)))
		return KF_CHAT_GIVE_UP;
	return KF_CHAT_RETRY;
}
