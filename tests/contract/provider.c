/*
 * The promises of <kforge/provider.h>, asked of every provider; then those of
 * single ones. openai talks to a scripted server (openai_server.py): what the
 * server does is told by the model's name.
 */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <kforge/provider.h>

#include "base/base.h"

#define KEY "sk-test-0123456789abcdefghijklmnopqrstuvwxyz"
#define SOON_NS (10 * KF_NS_PER_S)	/* nothing here takes as long */

/* With what an exact transport must not touch. */
static const char words[] =
	"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x9a\x80\r\n\tx = \"\\n\"; \x0c<think>"
	"```c\nint a;\n```\n\n data: [DONE]\n";

struct world {
	char dir[64];
	pid_t server;
	int server_stdin;
	char url[64];
};

/* A kind of model under test: names to open for each promise, made in a fresh
 * folder. NULL where a promise cannot be asked. */
struct subject {
	const char *name;
	const char *exact;	/* replies with the text of words */
	const char *slow;	/* does not reply for a long time */
	const char *flood;	/* replies with more than KF_REPLY_BYTES */
};

static const struct subject subjects[] = {
	{ "openai", "openai:echo", "openai:hang", "openai:flood" },
	{ "exec", "exec:cat", "exec:sleep 20", "exec:yes" },
	{ "manual", "manual:DIR", "manual:DIR/slow", "manual:DIR/flood" },
	{ "replay", "replay:DIR/replay", NULL, "replay:DIR/flood.replay" },
};

/* --- helpers --------------------------------------------------------------- */

static void write_file(const struct world *w, const char *name,
		       const char *bytes, size_t len)
{
	char *path = kf_path_join(w->dir, name);

	assert_int_equal(kf_file_write(path, bytes, len, NULL), KF_OK);
	free(path);
}

/* "DIR" in a model's name becomes the folder of this run. */
static char *placed(const struct world *w, const char *name)
{
	const char *at = strstr(name, "DIR");

	return at ? kf_format("%.*s%s%s", (int)(at - name), name, w->dir, at + 3)
		  : kf_strdup(name);
}

static struct kf_model *open_model(const struct world *w, const char *name,
				   const char *record)
{
	char *full = placed(w, name);
	struct kf_model *model = NULL;
	struct kf_err err = { 0 };

	if (kf_model_open(full, record, &model, &err))
		fail_msg("%s: %s", full, err.text);
	free(full);
	return model;
}

static struct kf_message user_says(const char *text)
{
	return (struct kf_message) { KF_ROLE_USER, text };
}

static struct kf_ask ask_of(const struct kf_message *message)
{
	return (struct kf_ask) {
		.problem = "softmax",
		.attempt = 1,
		.message = message,
		.message_count = 1,
		.temperature = (double)NAN,
		.timeout_ns = SOON_NS,
	};
}

/* One question to a model of this name. */
static enum kf_code ask_once(const struct world *w, const char *name,
			     const struct kf_ask *ask, struct kf_reply *reply,
			     struct kf_err *err)
{
	struct kf_model *model = open_model(w, name, NULL);
	enum kf_code code = kf_model_ask(model, ask, reply, err);

	kf_model_free(model);
	return code;
}

static void *set_soon(void *arg)
{
	kf_sleep_ns(100 * KF_NS_PER_MS);
	*(volatile int *)arg = 1;
	return NULL;
}

/* --- promises of all ------------------------------------------------------- */

static void test_the_text_arrives_whole_and_exact(void **state)
{
	const struct world *w = *state;
	struct kf_message message = user_says(words);
	struct kf_ask ask = ask_of(&message);

	for (size_t i = 0; i < KF_COUNT(subjects); i++) {
		struct kf_reply reply;
		struct kf_err err = { 0 };

		if (ask_once(w, subjects[i].exact, &ask, &reply, &err))
			fail_msg("%s: %s", subjects[i].name, err.text);
		assert_string_equal(kf_buf_str(&reply.text), words);
		assert_int_equal(reply.text.len, sizeof(words) - 1);
		assert_int_equal(reply.finish, KF_REPLY_STOP);
		assert_int_equal(reply.tries, 1);
		kf_reply_release(&reply);
	}
}

static void test_cancel_stops_within_a_second(void **state)
{
	const struct world *w = *state;
	struct kf_message message = user_says("hello");

	for (size_t i = 0; i < KF_COUNT(subjects); i++) {
		volatile int cancel = 0;
		struct kf_ask ask = ask_of(&message);
		struct kf_reply reply;
		struct kf_err err = { 0 };
		uint64_t start_ns = kf_now_ns();
		pthread_t thread;

		if (!subjects[i].slow)
			continue;
		ask.cancel = &cancel;
		assert_int_equal(pthread_create(&thread, NULL, set_soon,
					(void *)(uintptr_t)&cancel), 0);
		assert_int_equal(ask_once(w, subjects[i].slow, &ask, &reply,
					  &err), KF_E_CANCELED);
		assert_true(kf_now_ns() - start_ns < KF_NS_PER_S);
		assert_non_null(strstr(err.text, "cancel"));
		pthread_join(thread, NULL);
		kf_reply_release(&reply);
	}
}

static void test_the_deadline_is_honoured(void **state)
{
	const struct world *w = *state;
	struct kf_message message = user_says("hello");

	for (size_t i = 0; i < KF_COUNT(subjects); i++) {
		struct kf_ask ask = ask_of(&message);
		struct kf_reply reply;
		struct kf_err err = { 0 };
		uint64_t start_ns = kf_now_ns();

		if (!subjects[i].slow)
			continue;
		ask.timeout_ns = 300 * KF_NS_PER_MS;
		assert_int_equal(ask_once(w, subjects[i].slow, &ask, &reply,
					  &err), KF_E_TIMEOUT);
		assert_true(kf_now_ns() - start_ns < KF_NS_PER_S);
		assert_true(strlen(err.text) > 10);
		kf_reply_release(&reply);
	}
}

static void test_a_reply_over_the_ceiling_is_a_limit(void **state)
{
	const struct world *w = *state;
	struct kf_message message = user_says("hello");
	struct kf_ask ask = ask_of(&message);

	for (size_t i = 0; i < KF_COUNT(subjects); i++) {
		struct kf_reply reply;
		struct kf_err err = { 0 };

		if (ask_once(w, subjects[i].flood, &ask, &reply, &err) !=
		    KF_E_LIMIT)
			fail_msg("%s: %s", subjects[i].name, err.text);
		assert_non_null(strstr(err.text, "larger than 4194304 bytes"));
		kf_reply_release(&reply);
	}
}

static void test_a_name_without_argument_is_a_sentence(void **state)
{
	(void)state;
	for (size_t i = 0; kf_providers[i]; i++) {
		char *name = kf_format("%s: ", kf_providers[i]->name);
		struct kf_model *model;
		struct kf_err err = { 0 };

		assert_int_equal(kf_providers[i]->abi, KF_PROVIDER_ABI);
		assert_int_equal(kf_model_open(name, NULL, &model, &err),
				 KF_E_INPUT);
		assert_null(model);
		assert_non_null(strstr(err.text, kf_providers[i]->usage));
		free(name);
	}
}

static void test_a_question_without_deadline_is_refused(void **state)
{
	const struct world *w = *state;
	struct kf_message message = user_says("hello");
	struct kf_ask ask = ask_of(&message);
	struct kf_reply reply;
	struct kf_err err = { 0 };

	ask.timeout_ns = 0;
	assert_int_equal(ask_once(w, "exec:cat", &ask, &reply, &err),
			 KF_E_INPUT);
	assert_int_equal(reply.text.len, 0);
}

static void test_what_is_recorded_replays_the_same(void **state)
{
	const struct world *w = *state;
	char *record = kf_path_join(w->dir, "record");
	char *name = kf_format("replay:%s", record);
	struct kf_message message = user_says(words);
	struct kf_ask ask = ask_of(&message);
	struct kf_err err = { 0 };

	for (size_t i = 0; i < KF_COUNT(subjects); i++) {
		struct kf_model *model = open_model(w, subjects[i].exact,
						    record);
		struct kf_reply reply, again;

		ask.problem = subjects[i].name;
		if (i >= 2)	/* these have files for softmax only */
			ask.problem = "softmax";
		assert_int_equal(kf_model_ask(model, &ask, &reply, &err),
				 KF_OK);
		kf_model_free(model);
		message = user_says("another prompt");
		assert_int_equal(ask_once(w, name, &ask, &again, &err), KF_OK);
		message = user_says(words);
		assert_string_equal(kf_buf_str(&again.text), words);
		assert_int_equal(again.finish, reply.finish);
		assert_int_equal(again.tokens_in, reply.tokens_in);
		assert_int_equal(again.tokens_reported, reply.tokens_reported);
		assert_string_equal(again.model, reply.model);
		kf_reply_release(&reply);
		kf_reply_release(&again);
	}
	free(name);
	free(record);
}

/* --- openai: replies in many shapes ---------------------------------------- */

static void test_every_shape_of_a_good_answer_is_read(void **state)
{
	static const struct {
		const char *model, *text, *reasoning;
		enum kf_reply_finish finish;
		unsigned tries;
		const char *note;	/* part of it, or "" for none */
	} rows[] = {
		{ "bytewise", "hello", "", KF_REPLY_STOP, 1, "" },
		{ "plain", "hello", "", KF_REPLY_STOP, 1, "" },
		{ "plain-as-stream", "hello", "", KF_REPLY_STOP, 1, "" },
		{ "stream-as-json", "hello", "", KF_REPLY_STOP, 1, "" },
		{ "crlf", "hello", "", KF_REPLY_STOP, 1, "" },
		{ "no-last-line-end", "hello", "", KF_REPLY_STOP, 1, "" },
		{ "parts", "hello", "hm", KF_REPLY_STOP, 1, "" },
		{ "part-deltas", "hello", "hm", KF_REPLY_STOP, 1, "" },
		{ "reasoning-content", "hello", "hm", KF_REPLY_STOP, 1, "" },
		{ "reasoning", "hello", "hm", KF_REPLY_STOP, 1, "" },
		{ "comments", "hello", "", KF_REPLY_STOP, 1, "skipped 1 " },
		{ "usage-with-finish", "hello", "", KF_REPLY_STOP, 1, "" },
		{ "two-choices", "hello", "", KF_REPLY_STOP, 1, "" },
		{ "length", "hello", "", KF_REPLY_LENGTH, 1, "" },
		{ "filtered", "hello", "", KF_REPLY_REFUSED, 1, "" },
		{ "refusal", "", "", KF_REPLY_REFUSED, 1, "I cannot." },
		{ "other-finish", "hello", "", KF_REPLY_OTHER, 1, "" },
		{ "done-without-finish", "hello", "", KF_REPLY_NONE, 1, "did not say" },
		{ "null-finish", "hello", "", KF_REPLY_NONE, 1, "did not say" },
		{ "finish-without-done", "hello", "", KF_REPLY_STOP, 1, "" },
		{ "empty", "", "", KF_REPLY_STOP, 1, "" },
		{ "broken-text", "a\xef\xbf\xbd\xef\xbf\xbd" "b\xef\xbf\xbd" "c\xef\xbf\xbd\xf0\x9f\x98\x80", "", KF_REPLY_STOP, 1, "" },
		{ "cut-once", "hello", "", KF_REPLY_STOP, 2, "" },
		{ "damaged-once", "hello", "", KF_REPLY_STOP, 2, "" },
		{ "reset-once", "hello", "", KF_REPLY_STOP, 2, "" },
		{ "empty-body-once", "hello", "", KF_REPLY_STOP, 2, "" },
		{ "empty-choices-once", "hello", "", KF_REPLY_STOP, 2, "" },
		{ "busy-once", "hello", "", KF_REPLY_STOP, 2, "" },
		{ "stream-error-once", "hello", "", KF_REPLY_STOP, 2, "" },
	};
	const struct world *w = *state;
	struct kf_message message = user_says("hello?");
	struct kf_ask ask = ask_of(&message);

	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		char *name = kf_format("openai:%s", rows[i].model);
		struct kf_reply reply;
		struct kf_err err = { 0 };

		if (ask_once(w, name, &ask, &reply, &err))
			fail_msg("%s: %s", name, err.text);
		if (strcmp(kf_buf_str(&reply.text), rows[i].text) ||
		    strcmp(kf_buf_str(&reply.reasoning), rows[i].reasoning) ||
		    reply.finish != rows[i].finish ||
		    reply.tries != rows[i].tries ||
		    !strstr(reply.note, rows[i].note) ||
		    (!rows[i].note[0] && reply.note[0]))
			fail_msg("%s: text '%s', reasoning '%s', finish %s, "
				 "tries %u, note '%s'", name,
				 kf_buf_str(&reply.text),
				 kf_buf_str(&reply.reasoning),
				 kf_reply_finish_name(reply.finish),
				 reply.tries, reply.note);
		kf_reply_release(&reply);
		free(name);
	}
}

static void test_tokens_and_model_are_the_services(void **state)
{
	struct kf_message message = user_says("hello?");
	struct kf_ask ask = ask_of(&message);
	struct kf_reply reply;
	struct kf_err err = { 0 };

	assert_int_equal(ask_once(*state, "openai:plain", &ask, &reply, &err),
			 KF_OK);
	assert_true(reply.tokens_reported);
	assert_int_equal(reply.tokens_in, 11);
	assert_int_equal(reply.tokens_out, 7);
	assert_string_equal(reply.model, "scripted-1");
	kf_reply_release(&reply);
}

static void test_reasoning_that_used_up_the_tokens_is_data(void **state)
{
	struct kf_message message = user_says("hello?");
	struct kf_ask ask = ask_of(&message);
	struct kf_reply reply;
	struct kf_err err = { 0 };

	assert_int_equal(ask_once(*state, "openai:exhausted", &ask, &reply,
				  &err), KF_OK);
	assert_int_equal(reply.finish, KF_REPLY_LENGTH);
	assert_int_equal(reply.text.len, 0);
	assert_non_null(strstr(reply.note, "500 bytes of reasoning"));
	kf_reply_release(&reply);
}

static void test_a_prompt_cut_in_silence_is_noted(void **state)
{
	char *long_text = kf_alloc(20001);
	struct kf_message message = user_says(long_text);
	struct kf_ask ask = ask_of(&message);
	struct kf_reply reply;
	struct kf_err err = { 0 };

	memset(long_text, 'x', 20000);
	assert_int_equal(ask_once(*state, "openai:truncating", &ask, &reply,
				  &err), KF_OK);
	assert_non_null(strstr(reply.note, "counted 2048 prompt tokens of "
			       "about 5715 sent"));
	kf_reply_release(&reply);
	free(long_text);
}

/* The scripted server refuses every body that is not strict UTF-8 and JSON. */
static void test_invalid_bytes_never_leave(void **state)
{
	struct kf_message message = user_says("a\xff\xed\xa0\x80z");
	struct kf_ask ask = ask_of(&message);
	struct kf_reply reply;
	struct kf_err err = { 0 };

	assert_int_equal(ask_once(*state, "openai:echo", &ask, &reply, &err),
			 KF_OK);
	assert_string_equal(kf_buf_str(&reply.text), "a\xef\xbf\xbd"
			    "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz");
	kf_reply_release(&reply);
}

/* --- openai: requests that must change -------------------------------------- */

static void test_a_refused_member_is_changed_once_and_remembered(void **state)
{
	static const char *const names[] = {
		"openai:completion-tokens", "openai:no-temperature",
		"openai:no-stream-options",
	};
	const struct world *w = *state;
	struct kf_message message = user_says("hello?");
	struct kf_ask ask = ask_of(&message);

	ask.token_max = 1000;
	ask.temperature = 0.5;
	setenv("KFORGE_RETRIES", "0", 1);
	for (size_t i = 0; i < KF_COUNT(names); i++) {
		struct kf_model *model = open_model(w, names[i], NULL);

		for (unsigned round = 0; round < 2; round++) {
			struct kf_reply reply;
			struct kf_err err = { 0 };

			if (kf_model_ask(model, &ask, &reply, &err))
				fail_msg("%s: %s", names[i], err.text);
			assert_int_equal(reply.tries, round ? 1 : 2);
			kf_reply_release(&reply);
		}
		kf_model_free(model);
	}
	unsetenv("KFORGE_RETRIES");
}

static void test_a_reply_that_does_not_fit_is_asked_shorter_once(void **state)
{
	struct kf_message message = user_says("hello?");
	struct kf_ask ask = ask_of(&message);
	struct kf_reply reply;
	struct kf_err err = { 0 };

	ask.token_max = 4000;
	if (ask_once(*state, "openai:window", &ask, &reply, &err))
		fail_msg("%s", err.text);
	assert_int_equal(reply.tries, 2);
	assert_non_null(strstr(reply.note, "3032 tokens instead of 4000"));
	kf_reply_release(&reply);
}

/* --- openai: what cannot be helped ------------------------------------------ */

static void test_failures_are_sentences_that_name_the_thing(void **state)
{
	static const struct {
		const char *model;
		enum kf_code code;
		const char *words[2];
	} rows[] = {
		{ "prompt-too-long", KF_E_LIMIT, { "9000 tokens of prompt", "window of 4096" } },
		{ "error-200", KF_E_UNAVAIL, { "33/32 upstream limit", "/v1" } },
		{ "error-text", KF_E_UNAVAIL, { "no such thing", "404" } },
		{ "event-error", KF_E_UNAVAIL, { "bad weights", "" } },
		{ "no-such-model", KF_E_UNAVAIL, { "has no such model", "no-such-model" } },
		{ "bad-key", KF_E_UNAVAIL, { "OPENAI_API_KEY", "[key]" } },
		{ "later", KF_E_UNAVAIL, { "come tomorrow", "no time for another" } },
		{ "page", KF_E_UNAVAIL, { "is the base URL right", "It works!" } },
		{ "words", KF_E_UNAVAIL, { "is the base URL right", "upstream says no" } },
		{ "elsewhere", KF_E_UNAVAIL, { "sends elsewhere", "307" } },
		{ "wide-line", KF_E_LIMIT, { "larger than", "wide-line" } },
	};
	const struct world *w = *state;
	struct kf_message message = user_says("hello?");
	struct kf_ask ask = ask_of(&message);

	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		char *name = kf_format("openai:%s", rows[i].model);
		struct kf_reply reply;
		struct kf_err err = { 0 };
		enum kf_code code = ask_once(w, name, &ask, &reply, &err);

		if (code != rows[i].code || reply.tries != 1 ||
		    !strstr(err.text, rows[i].words[0]) ||
		    !strstr(err.text, rows[i].words[1]))
			fail_msg("%s: %s after %u tries, '%s'", name,
				 kf_code_name(code), reply.tries, err.text);
		assert_null(strstr(err.text, "0123456789ab"));
		kf_reply_release(&reply);
		free(name);
	}
}

struct heard { unsigned lines; char last[512]; };

static void hear(void *arg, const char *line)
{
	struct heard *heard = arg;

	heard->lines++;
	snprintf(heard->last, sizeof(heard->last), "%s", line);
}

static void test_tries_end_and_are_talked_about(void **state)
{
	struct kf_message message = user_says("hello?");
	struct kf_ask ask = ask_of(&message);
	struct heard heard = { 0 };
	struct kf_reply reply;
	struct kf_err err = { 0 };

	setenv("KFORGE_RETRIES", "1", 1);
	ask.notice = hear;
	ask.notice_arg = &heard;
	assert_int_equal(ask_once(*state, "openai:down", &ask, &reply, &err),
			 KF_E_UNAVAIL);
	unsetenv("KFORGE_RETRIES");
	assert_int_equal(reply.tries, 2);
	assert_int_equal(heard.lines, 1);
	assert_non_null(strstr(heard.last, "down for repair; try 2 of 2 in 0."));
	assert_non_null(strstr(err.text, "given up after 2 tries"));
	kf_reply_release(&reply);
}

static void test_the_server_says_when_to_come_back(void **state)
{
	struct kf_message message = user_says("hello?");
	struct kf_ask ask = ask_of(&message);
	struct kf_reply reply;
	struct kf_err err = { 0 };

	assert_int_equal(ask_once(*state, "openai:asks-700-ms", &ask, &reply,
				  &err), KF_OK);
	assert_true(reply.took_ns >= 700 * KF_NS_PER_MS);
	kf_reply_release(&reply);
}

static void test_silence_is_a_stall_and_comments_are_not(void **state)
{
	struct kf_message message = user_says("hello?");
	struct kf_ask ask = ask_of(&message);
	struct kf_reply reply;
	struct kf_err err = { 0 };

	setenv("KFORGE_RETRIES", "0", 1);
	setenv("KFORGE_STALL_SECONDS", "0.3", 1);
	assert_int_equal(ask_once(*state, "openai:hang", &ask, &reply, &err),
			 KF_E_UNAVAIL);
	assert_non_null(strstr(err.text, "sent nothing for"));
	kf_reply_release(&reply);
	ask.timeout_ns = 600 * KF_NS_PER_MS;
	assert_int_equal(ask_once(*state, "openai:drip", &ask, &reply, &err),
			 KF_E_TIMEOUT);
	kf_reply_release(&reply);
	ask.timeout_ns = SOON_NS;
	assert_int_equal(ask_once(*state, "openai:finish-then-silence", &ask,
				  &reply, &err), KF_OK);
	assert_string_equal(kf_buf_str(&reply.text), "hello");
	kf_reply_release(&reply);
	unsetenv("KFORGE_STALL_SECONDS");
	unsetenv("KFORGE_RETRIES");
}

static void test_nobody_there_is_unavailable(void **state)
{
	const struct world *w = *state;
	struct kf_message message = user_says("hello?");
	struct kf_ask ask = ask_of(&message);
	struct kf_reply reply;
	struct kf_err err = { 0 };

	setenv("KFORGE_RETRIES", "0", 1);
	setenv("KFORGE_OPENAI_BASE_URL", "http://127.0.0.1:1/v1", 1);
	assert_int_equal(ask_once(w, "openai:echo", &ask, &reply, &err),
			 KF_E_UNAVAIL);
	assert_non_null(strstr(err.text, "cannot reach http://127.0.0.1:1/v1"));
	setenv("KFORGE_OPENAI_BASE_URL", w->url, 1);
	unsetenv("KFORGE_RETRIES");
	kf_reply_release(&reply);
}

static void test_settings_that_make_no_sense_are_sentences(void **state)
{
	static const struct {
		const char *variable, *value;
		enum kf_code code;
		const char *words;
	} rows[] = {
		{ "KFORGE_RETRIES", "many", KF_E_INPUT, "KFORGE_RETRIES is 'many'" },
		{ "KFORGE_STALL_SECONDS", "0", KF_E_INPUT, "KFORGE_STALL_SECONDS" },
		{ "KFORGE_OPENAI_BASE_URL", "ftp://x", KF_E_INPUT, "ftp://x" },
		{ "KFORGE_OPENAI_BASE_URL", "http://me:secret@x/v1", KF_E_INPUT, "no user, password" },
		{ "OPENAI_API_KEY", "two\nlines", KF_E_INPUT, "OPENAI_API_KEY" },
		{ "OPENAI_API_KEY", NULL, KF_OK, "" },
		{ "KFORGE_OPENAI_BASE_URL", NULL, KF_OK, "" },
	};
	const struct world *w = *state;

	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		char *before = kf_strdup(getenv(rows[i].variable));
		struct kf_model *model = NULL;
		struct kf_err err = { 0 };

		if (rows[i].value)
			setenv(rows[i].variable, rows[i].value, 1);
		else
			unsetenv(rows[i].variable);
		assert_int_equal(kf_model_open("openai:m", NULL, &model, &err),
				 rows[i].code);
		assert_non_null(strstr(err.text, rows[i].words));
		assert_null(strstr(err.text, "secret"));
		kf_model_free(model);
		if (before)
			setenv(rows[i].variable, before, 1);
		else
			unsetenv(rows[i].variable);
		free(before);
	}
	assert_string_equal(getenv("KFORGE_OPENAI_BASE_URL"), w->url);
}

static void test_the_public_service_needs_a_key(void **state)
{
	const struct world *w = *state;
	struct kf_model *model = NULL;
	struct kf_err err = { 0 };

	unsetenv("KFORGE_OPENAI_BASE_URL");
	unsetenv("OPENAI_API_KEY");
	assert_int_equal(kf_model_open("openai:m", NULL, &model, &err),
			 KF_E_UNAVAIL);
	assert_non_null(strstr(err.text, "set OPENAI_API_KEY"));
	setenv("OPENAI_API_KEY", KEY, 1);
	setenv("KFORGE_OPENAI_BASE_URL", w->url, 1);
}

/* --- exec, manual, replay ---------------------------------------------------- */

static void test_exec_gets_system_then_user_text_and_the_address(void **state)
{
	struct kf_message messages[] = {
		{ KF_ROLE_SYSTEM, "be brief\n" }, { KF_ROLE_USER, "hello" },
	};
	struct kf_ask ask = ask_of(messages);
	struct kf_reply reply;
	struct kf_err err = { 0 };

	ask.message_count = 2;
	ask.attempt = 3;
	setenv("KFORGE_PROBLEM", "stale", 1);
	assert_int_equal(ask_once(*state, "exec:cat; printf ' %s %s' "
			 "$KFORGE_PROBLEM $KFORGE_ATTEMPT", &ask, &reply, &err),
			 KF_OK);
	unsetenv("KFORGE_PROBLEM");
	assert_string_equal(kf_buf_str(&reply.text),
			    "be brief\n\nhello softmax 3");
	kf_reply_release(&reply);
}

static void test_exec_endings(void **state)
{
	static const struct {
		const char *name;
		enum kf_code code;
		const char *text;	/* of the reply, or part of the error */
	} rows[] = {
		{ "exec:true", KF_OK, "" },
		{ "exec:printf 'a\\377b\\0c'", KF_OK, "a\xef\xbf\xbd" "b\xef\xbf\xbd" "c" },
		{ "exec:echo one >&2; echo two >&2; exit 3", KF_E_UNAVAIL, "status 3: two" },
		{ "exec:kill -9 $$", KF_E_UNAVAIL, "signal 9" },
		{ "exec:/no/such/program", KF_E_UNAVAIL, "status 127: " },
		{ "exec:echo $OPENAI_API_KEY >&2; exit 1", KF_E_UNAVAIL, "status 1: [key]" },
	};
	struct kf_message message = user_says(words);
	struct kf_ask ask = ask_of(&message);

	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_reply reply;
		struct kf_err err = { 0 };

		assert_int_equal(ask_once(*state, rows[i].name, &ask, &reply,
					  &err), rows[i].code);
		if (rows[i].code)
			assert_non_null(strstr(err.text, rows[i].text));
		else
			assert_string_equal(kf_buf_str(&reply.text),
					    rows[i].text);
		kf_reply_release(&reply);
	}
}

static void *reply_in_pieces(void *arg)
{
	const char *path = arg;
	FILE *f = fopen(path, "w");

	for (int i = 0; f && i < 5; i++) {
		kf_sleep_ns(100 * KF_NS_PER_MS);
		fprintf(f, "piece %d\n", i);
		fflush(f);
	}
	if (f)
		fclose(f);
	return NULL;
}

static void test_manual_waits_until_the_reply_is_finished(void **state)
{
	const struct world *w = *state;
	char *dir = kf_path_join(w->dir, "person");
	char *reply_path = kf_path_join(dir, "level1_softmax.2.reply.md");
	char *prompt_path = kf_path_join(dir, "level1_softmax.2.prompt.md");
	char *name = kf_format("manual:%s", dir);
	struct kf_message message = user_says("write it");
	struct kf_ask ask = ask_of(&message);
	struct kf_buf prompt = { .max = 100 };
	struct heard heard = { 0 };
	struct kf_reply reply;
	struct kf_err err = { 0 };
	pthread_t thread;

	assert_int_equal(kf_mkdir_p(dir, &err), KF_OK);
	assert_int_equal(pthread_create(&thread, NULL, reply_in_pieces,
					reply_path), 0);
	ask.problem = "level1/softmax";
	ask.attempt = 2;
	ask.notice = hear;
	ask.notice_arg = &heard;
	assert_int_equal(ask_once(w, name, &ask, &reply, &err), KF_OK);
	pthread_join(thread, NULL);
	assert_string_equal(kf_buf_str(&reply.text), "piece 0\npiece 1\n"
			    "piece 2\npiece 3\npiece 4\n");
	assert_int_equal(kf_file_read(prompt_path, &prompt, &err), KF_OK);
	assert_string_equal(kf_buf_str(&prompt), "write it");
	assert_non_null(strstr(heard.last, reply_path));
	kf_buf_release(&prompt);
	kf_reply_release(&reply);
	free(name);
	free(prompt_path);
	free(reply_path);
	free(dir);
}

static void test_manual_says_which_file_it_waited_for(void **state)
{
	struct kf_message message = user_says("write it");
	struct kf_ask ask = ask_of(&message);
	struct kf_reply reply;
	struct kf_err err = { 0 };

	ask.timeout_ns = 10 * KF_NS_PER_MS;
	ask.problem = "../up";
	assert_int_equal(ask_once(*state, "manual:DIR/slow", &ask, &reply,
				  &err), KF_E_TIMEOUT);
	assert_non_null(strstr(err.text, "/slow/_._up.1.reply.md"));
	kf_reply_release(&reply);
}

static void test_replay_names_what_is_missing(void **state)
{
	struct kf_message message = user_says("hello");
	struct kf_ask ask = ask_of(&message);
	struct kf_reply reply;
	struct kf_err err = { 0 };

	ask.attempt = 7;
	assert_int_equal(ask_once(*state, "replay:DIR/replay", &ask, &reply,
				  &err), KF_E_UNAVAIL);
	assert_non_null(strstr(err.text, "/replay has no reply for softmax, "
			       "attempt 7"));
	kf_reply_release(&reply);
}

/* --- the world ---------------------------------------------------------------- */

static void start_server(struct world *w)
{
	const char *python = getenv("KFORGE_PYTHON");
	int in[2], out[2];
	char port[16] = "";
	ssize_t got;

	if (pipe(in) || pipe(out))
		abort();
	w->server = fork();
	if (w->server == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]);
		close(out[0]);
		execlp(python ? python : "python3", "python3",
		       "tests/contract/openai_server.py", (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	w->server_stdin = in[1];
	got = read(out[0], port, sizeof(port) - 1);
	close(out[0]);
	port[got > 0 ? strcspn(port, "\n") : 0] = '\0';
	snprintf(w->url, sizeof(w->url), "http://127.0.0.1:%s/v1/", port);
}

static void write_replay(const struct world *w, const char *name,
			 const char *text, size_t len)
{
	struct kf_buf line = { .max = len * 6 + 1000 };

	kf_buf_puts(&line, "{\"kforge_replay\":1}\n{\"problem\":\"softmax\","
		    "\"attempt\":1,\"text\":\"");
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < 32 || c == '"' || c == '\\')
			kf_buf_printf(&line, "\\u%04x", c);
		else
			kf_buf_add(&line, &text[i], 1);
	}
	kf_buf_puts(&line, "\"}\n");
	write_file(w, name, line.data, line.len);
	kf_buf_release(&line);
}

static int setup(void **state)
{
	struct world *w = kf_alloc(sizeof(*w));
	size_t large_len = KF_REPLY_BYTES + 1;
	char *large = kf_alloc(large_len);
	char path[96];

	*state = w;
	snprintf(w->dir, sizeof(w->dir), "/tmp/kforge-provider-XXXXXX");
	if (!mkdtemp(w->dir))
		return 1;
	memset(large, 'x', large_len);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", w->dir,
			 i ? "slow" : "flood");
		if (mkdir(path, 0777))
			return 1;
	}
	write_file(w, "softmax.1.reply.md", words, sizeof(words) - 1);
	write_file(w, "flood/softmax.1.reply.md", large, large_len);
	write_replay(w, "replay", words, sizeof(words) - 1);
	write_replay(w, "flood.replay", large, large_len);
	free(large);
	start_server(w);
	setenv("KFORGE_OPENAI_BASE_URL", w->url, 1);
	setenv("OPENAI_API_KEY", KEY, 1);
	setenv("no_proxy", "127.0.0.1", 1);
	unsetenv("KFORGE_RETRIES");
	unsetenv("KFORGE_STALL_SECONDS");
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	close(w->server_stdin);
	if (w->server > 0)
		waitpid(w->server, NULL, 0);
	(void)kf_remove_tree(w->dir, NULL);
	free(w);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_text_arrives_whole_and_exact),
		cmocka_unit_test(test_cancel_stops_within_a_second),
		cmocka_unit_test(test_the_deadline_is_honoured),
		cmocka_unit_test(test_a_reply_over_the_ceiling_is_a_limit),
		cmocka_unit_test(test_a_name_without_argument_is_a_sentence),
		cmocka_unit_test(test_a_question_without_deadline_is_refused),
		cmocka_unit_test(test_what_is_recorded_replays_the_same),
		cmocka_unit_test(test_every_shape_of_a_good_answer_is_read),
		cmocka_unit_test(test_tokens_and_model_are_the_services),
		cmocka_unit_test(test_reasoning_that_used_up_the_tokens_is_data),
		cmocka_unit_test(test_a_prompt_cut_in_silence_is_noted),
		cmocka_unit_test(test_invalid_bytes_never_leave),
		cmocka_unit_test(test_a_refused_member_is_changed_once_and_remembered),
		cmocka_unit_test(test_a_reply_that_does_not_fit_is_asked_shorter_once),
		cmocka_unit_test(test_failures_are_sentences_that_name_the_thing),
		cmocka_unit_test(test_tries_end_and_are_talked_about),
		cmocka_unit_test(test_the_server_says_when_to_come_back),
		cmocka_unit_test(test_silence_is_a_stall_and_comments_are_not),
		cmocka_unit_test(test_nobody_there_is_unavailable),
		cmocka_unit_test(test_settings_that_make_no_sense_are_sentences),
		cmocka_unit_test(test_the_public_service_needs_a_key),
		cmocka_unit_test(test_exec_gets_system_then_user_text_and_the_address),
		cmocka_unit_test(test_exec_endings),
		cmocka_unit_test(test_manual_waits_until_the_reply_is_finished),
		cmocka_unit_test(test_manual_says_which_file_it_waited_for),
		cmocka_unit_test(test_replay_names_what_is_missing),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
