/*
 * openai:MODEL - chat completions over HTTP, from OpenAI or any server that
 * speaks the same. What is learnt about a server (which members it refuses)
 * is kept for the life of the model.
 */
#include <time.h>

#include "provider/chat.h"
#include "provider/http.h"
#include "provider/openai_settings.h"
#include "provider/providers.h"

#define SLICE_NS (50 * KF_NS_PER_MS)
#define ERROR_BYTES (64u << 10)
#define ROUND_TOKENS 1024

struct openai {
	char *model;
	struct kf_openai_settings settings;
	struct kf_http *http;
	struct kf_chat_quirks quirks;
	struct kf_rng rng;
};

/* One request and what became of it. */
enum outcome { TRY_DONE, TRY_ADAPTED, TRY_AGAIN, TRY_FAILED };

struct try {
	struct openai *openai;
	const struct kf_ask *ask;
	struct kf_reply *reply;
	unsigned token_max;
	bool shrunk;			/* token_max was made to fit, once */
	uint64_t deadline_ns;
	struct kf_chat chat;
	struct kf_buf refused;		/* body of an answer that is an error */
	struct kf_http_answer answer;
	struct kf_err *err;
	enum kf_code code;		/* for TRY_AGAIN and TRY_FAILED */
};

static void openai_close(void *state)
{
	struct openai *openai = state;

	if (!openai)
		return;
	kf_http_free(openai->http);
	kf_openai_settings_release(&openai->settings);
	free(openai->model);
	free(openai);
}

static enum kf_code openai_open(const char *argument, void **state,
				struct kf_err *err)
{
	struct openai *openai = kf_alloc(sizeof(*openai));
	enum kf_code code;

	*state = openai;
	openai->model = kf_strdup(argument);
	kf_random_bytes(&openai->rng, sizeof(openai->rng));
	code = kf_openai_settings_read(&openai->settings, err);
	if (!code)
		code = kf_http_new(&openai->http, err);
	return code;
}

static bool on_piece(void *arg, long status, const char *bytes, size_t len)
{
	struct try *t = arg;
	bool more;

	if (status != 200)
		return kf_buf_add(&t->refused, bytes, len);
	more = kf_chat_feed(&t->chat, bytes, len);
	if (t->ask->progress)
		t->ask->progress(t->ask->progress_arg, t->reply->text.len,
				 t->reply->reasoning.len);
	return more;
}

static enum outcome failed(struct try *t, enum kf_code code)
{
	t->code = code;
	return TRY_FAILED;
}

static enum outcome again(struct try *t)
{
	t->code = KF_E_UNAVAIL;
	return TRY_AGAIN;
}

/* Asks for less where that makes the prompt and the reply fit. */
static bool shrink(struct try *t, const struct kf_chat_error *error)
{
	uint64_t room = error->window_tokens - error->prompt_tokens;

	if (t->shrunk || !error->prompt_tokens ||
	    error->window_tokens <= error->prompt_tokens || room < 512 ||
	    t->token_max <= room)
		return false;
	t->shrunk = true;
	t->token_max = (unsigned)(room - 64);
	kf_text_note(t->reply, "asked for %u tokens instead of %u: the model "
		     "has no room for more", t->token_max, t->ask->token_max);
	return true;
}

static enum outcome too_long(struct try *t, const struct kf_chat_error *error)
{
	char numbers[128] = "";

	if (shrink(t, error))
		return TRY_ADAPTED;
	if (error->window_tokens && error->prompt_tokens)
		snprintf(numbers, sizeof(numbers),
			 " (%llu tokens of prompt, a window of %llu)",
			 (unsigned long long)error->prompt_tokens,
			 (unsigned long long)error->window_tokens);
	return failed(t, kf_fail(t->err, KF_E_LIMIT,
		"the prompt of about %llu tokens does not fit the model%s: %s",
		(unsigned long long)kf_tokens_estimate(kf_text_bytes(t->ask)),
		numbers, error->message));
}

/* What a status means to the user, where the service's words may not say. */
static const struct { long status; enum kf_code code; const char *words; }
refusal[] = {
	{ 400, KF_E_INPUT, "does not accept the request" },
	{ 401, KF_E_UNAVAIL, "does not accept the key in OPENAI_API_KEY" },
	{ 402, KF_E_UNAVAIL, "wants to be paid first" },
	{ 403, KF_E_UNAVAIL, "does not allow this to the key in OPENAI_API_KEY" },
	{ 404, KF_E_UNAVAIL, "has no such model, or the base URL is wrong" },
	{ 413, KF_E_LIMIT, "finds the request too large" },
	{ 422, KF_E_INPUT, "does not accept the request" },
	{ 429, KF_E_UNAVAIL, "limits requests" },
};

static enum kf_code say_refusal(struct try *t, long status,
				const struct kf_chat_error *error)
{
	const char *words = status >= 300 && status < 400 ?
		"sends elsewhere; set the base URL to where it points" :
		"answers with an error";
	enum kf_code code = KF_E_UNAVAIL;

	for (size_t i = 0; i < KF_COUNT(refusal); i++) {
		if (refusal[i].status == status) {
			words = refusal[i].words;
			code = refusal[i].code;
		}
	}
	return kf_fail(t->err, code, "%s %s (model %s, status %ld): %s",
		       t->openai->settings.service, words, t->openai->model,
		       status, error->message);
}

static enum outcome judge_error(struct try *t, long status,
				const struct kf_chat_error *error)
{
	enum kf_chat_cure cure = kf_chat_cure(error, status,
					      &t->openai->quirks);
	long shown = status == 200 && error->status ? error->status : status;
	enum kf_code code;

	if (cure == KF_CHAT_ADAPT)
		return TRY_ADAPTED;
	if (cure == KF_CHAT_CONTEXT)
		return too_long(t, error);
	code = say_refusal(t, shown, error);
	return cure == KF_CHAT_RETRY ? again(t) : failed(t, code);
}

static enum outcome judge_reply(struct try *t)
{
	const char *service = t->openai->settings.service;

	switch (kf_chat_end(&t->chat)) {
	case KF_CHAT_WHOLE:
		return TRY_DONE;
	case KF_CHAT_ERROR:
		return judge_error(t, 200, &t->chat.error);
	case KF_CHAT_TOO_LARGE:
		return failed(t, kf_fail(t->err, KF_E_LIMIT,
			"the reply of %s is larger than %u bytes",
			t->openai->model, KF_REPLY_BYTES));
	case KF_CHAT_STRANGE:
		return failed(t, kf_fail(t->err, KF_E_UNAVAIL,
			"%s does not speak chat completions, is the base URL "
			"right? it says: %s", service, t->chat.strange));
	case KF_CHAT_NONE:
	case KF_CHAT_BROKEN:
		break;
	}
	kf_fail(t->err, KF_E_UNAVAIL, "%s broke off in the middle of its "
		"answer%s%s", service, t->answer.why[0] ? ": " : "",
		t->answer.why);
	return again(t);
}

static enum outcome say_late(struct try *t)
{
	return failed(t, kf_fail(t->err, KF_E_TIMEOUT,
		"%s gave no complete reply within %.0f s (%zu bytes of text, "
		"%zu of reasoning came)", t->openai->settings.service,
		(double)t->ask->timeout_ns / (double)KF_NS_PER_S,
		t->reply->text.len, t->reply->reasoning.len));
}

/* A reply whose end was seen is whole, however the connection ended. */
static enum outcome judge(struct try *t)
{
	const struct kf_http_answer *answer = &t->answer;
	const char *service = t->openai->settings.service;
	struct kf_chat_error error;

	if (answer->end == KF_HTTP_CANCELED)
		return failed(t, kf_fail(t->err, KF_E_CANCELED,
			"canceled while waiting for %s", service));
	if (answer->status == 200 && (answer->end == KF_HTTP_ANSWERED ||
				      t->chat.finish_seen))
		return judge_reply(t);
	if (answer->end == KF_HTTP_LATE)
		return say_late(t);
	if (answer->status == 200 && answer->end == KF_HTTP_BROKEN)
		return judge_reply(t);
	if (answer->end == KF_HTTP_STALLED) {
		kf_fail(t->err, KF_E_UNAVAIL, "%s sent nothing for %.0f s",
			service, (double)t->openai->settings.stall_ns /
			(double)KF_NS_PER_S);
		return again(t);
	}
	if (answer->end != KF_HTTP_ANSWERED) {
		kf_fail(t->err, KF_E_UNAVAIL, "cannot reach %s: %s", service,
			answer->why);
		return answer->end == KF_HTTP_BROKEN ? again(t) :
			failed(t, KF_E_UNAVAIL);
	}
	kf_chat_error_read(kf_buf_str(&t->refused), t->refused.len,
			   t->openai->settings.key, &error);
	return judge_error(t, answer->status, &error);
}

/* What a try before this one left; notes about the request itself stay. */
static void forget(struct kf_reply *reply)
{
	kf_buf_clear(&reply->text);
	kf_buf_clear(&reply->reasoning);
	reply->finish = KF_REPLY_NONE;
	reply->finish_text[0] = '\0';
	reply->model[0] = '\0';
	reply->tokens_reported = false;
	reply->tokens_in = reply->tokens_out = 0;
}

static enum outcome try_once(struct try *t)
{
	struct openai *openai = t->openai;
	const char *const headers[] = {
		"Content-Type: application/json",
		"Accept: text/event-stream, application/json",
		openai->settings.authorization,
		NULL,
	};
	char *body = kf_chat_request(openai->model, t->ask, t->token_max,
				     &openai->quirks);
	struct kf_http_request request = {
		.url = openai->settings.url,
		.header = headers,
		.body = body,
		.body_len = strlen(body),
		.deadline_ns = t->deadline_ns,
		.stall_ns = openai->settings.stall_ns,
		.cancel = t->ask->cancel,
		.piece = on_piece,
		.arg = t,
	};
	enum outcome outcome;

	forget(t->reply);
	t->refused = (struct kf_buf) { .max = ERROR_BYTES };
	kf_chat_init(&t->chat, t->reply, openai->settings.key);
	t->reply->tries++;
	kf_http_post(openai->http, &request, &t->answer);
	outcome = judge(t);
	kf_chat_release(&t->chat);
	kf_buf_release(&t->refused);
	free(body);
	return outcome;
}

static void say_waiting(const struct try *t, unsigned failures,
			uint64_t delay_ns)
{
	unsigned retry_max = t->openai->settings.policy.retry_max;
	char line[512];

	if (!t->ask->notice)
		return;
	snprintf(line, sizeof(line), "%.400s; try %u of %u in %.1f s",
		 t->err->text, failures + 1, retry_max + 1,
		 (double)delay_ns / (double)KF_NS_PER_S);
	t->ask->notice(t->ask->notice_arg, line);
}

static bool sleep_until(uint64_t then_ns, const volatile int *cancel)
{
	while (kf_now_ns() < then_ns) {
		uint64_t left_ns = then_ns - kf_now_ns();

		if (cancel && *cancel)
			return false;
		kf_sleep_ns(left_ns < SLICE_NS ? left_ns : SLICE_NS);
	}
	return true;
}

/* After a failure that may pass. False if it is the last. */
static bool wait_for_next(struct try *t, unsigned failures)
{
	const struct kf_retry_policy *policy = &t->openai->settings.policy;
	uint64_t now_ns = kf_now_ns(), asked_ns, delay_ns;
	uint64_t left_ns = t->deadline_ns > now_ns ?
		t->deadline_ns - now_ns : 0;
	size_t len = strlen(t->err->text);

	kf_retry_asked_ns(t->answer.retry_after, t->answer.retry_after_ms,
			  (int64_t)time(NULL), &asked_ns);
	if (!kf_retry_next(policy, failures, asked_ns,
			   kf_rng_double(&t->openai->rng), left_ns,
			   &delay_ns)) {
		snprintf(t->err->text + len, sizeof(t->err->text) - len,
			 failures > policy->retry_max ?
			 " (given up after %u tries)" :
			 " (after %u tries there is no time for another)",
			 failures);
		return false;
	}
	say_waiting(t, failures, delay_ns);
	if (sleep_until(now_ns + delay_ns, t->ask->cancel))
		return true;
	t->code = kf_fail(t->err, KF_E_CANCELED,
			  "canceled while waiting to ask %s again",
			  t->openai->settings.service);
	return false;
}

/* Far fewer tokens than we sent, or a round number below it, means that the
 * server cut the prompt and said nothing. */
static void check_prompt_arrived(const struct kf_ask *ask,
				 struct kf_reply *reply)
{
	uint64_t sent = kf_tokens_estimate(kf_text_bytes(ask));
	uint64_t got = reply->tokens_in;
	bool far_below = got < sent / 2;
	bool round_cap = got % ROUND_TOKENS == 0 && got < sent - sent / 10;

	if (!reply->tokens_reported || !got || sent < ROUND_TOKENS)
		return;
	if (far_below || round_cap)
		kf_text_note(reply, "the service counted %llu prompt tokens of "
			     "about %llu sent: it may have cut the prompt "
			     "(context window too small?)",
			     (unsigned long long)got,
			     (unsigned long long)sent);
}

static enum kf_code openai_ask(void *state, const struct kf_ask *ask,
			       struct kf_reply *reply, struct kf_err *err)
{
	struct kf_err unheard = { 0 };
	uint64_t now_ns = kf_now_ns();
	struct try t = {
		.openai = state,
		.ask = ask,
		.reply = reply,
		.token_max = ask->token_max,
		.deadline_ns = ask->timeout_ns < UINT64_MAX - now_ns ?
			now_ns + ask->timeout_ns : UINT64_MAX,
		.err = err ? err : &unheard,
	};
	enum outcome outcome;
	unsigned failures = 0;

	do
		outcome = try_once(&t);
	while (outcome == TRY_ADAPTED ||
	       (outcome == TRY_AGAIN && wait_for_next(&t, ++failures)));
	if (outcome != TRY_DONE)
		return t.code;
	check_prompt_arrived(ask, reply);
	return KF_OK;
}

const struct kf_provider kf_provider_openai = {
	.abi = KF_PROVIDER_ABI,
	.name = "openai",
	.usage = "openai:MODEL, any server that speaks chat completions "
		"(OPENAI_API_KEY, KFORGE_OPENAI_BASE_URL)",
	.needs_network = true,
	.open = openai_open,
	.ask = openai_ask,
	.close = openai_close,
};
