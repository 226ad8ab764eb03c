/*
 * What openai promises beside <kforge/provider.h>, against openai_server.py:
 * what the server does is told by the model's name.
 */
#include "provider_world.h"

/* --- openai: replies in many shapes --------------------------------------- */

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

static void test_reasoning_without_text_is_data(void **state)
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

/* --- openai: requests that must change ------------------------------------ */

static void test_a_refused_member_is_changed_once(void **state)
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

static void test_a_reply_too_long_is_asked_shorter(void **state)
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

/* --- openai: what cannot be helped ---------------------------------------- */

static void test_failures_name_the_thing(void **state)
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
	assert_non_null(strstr(heard.last,
			       "down for repair; try 2 of 2 in 0."));
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

static void test_cancel_ends_the_wait_for_the_next_try(void **state)
{
	struct kf_message message = user_says("hello?");
	struct kf_ask ask = ask_of(&message);
	volatile int cancel = 0;
	struct kf_reply reply;
	struct kf_err err = { 0 };
	pthread_t thread;

	ask.cancel = &cancel;
	assert_int_equal(pthread_create(&thread, NULL, set_soon,
					(void *)(uintptr_t)&cancel), 0);
	assert_int_equal(ask_once(*state, "openai:asks-5-s", &ask, &reply,
				  &err), KF_E_CANCELED);
	assert_true(reply.took_ns < A_SECOND_NS);
	pthread_join(thread, NULL);
	kf_reply_release(&reply);
}

struct growth { unsigned calls; size_t text, reasoning; };

static void watch(void *arg, size_t text, size_t reasoning)
{
	struct growth *growth = arg;

	assert_true(text >= growth->text && reasoning >= growth->reasoning);
	*growth = (struct growth) { growth->calls + 1, text, reasoning };
}

static void test_progress_grows_to_the_whole_reply(void **state)
{
	struct kf_message message = user_says("hello?");
	struct kf_ask ask = ask_of(&message);
	struct growth growth = { 0 };
	struct kf_reply reply;
	struct kf_err err = { 0 };

	ask.progress = watch;
	ask.progress_arg = &growth;
	assert_int_equal(ask_once(*state, "openai:reasoning-content", &ask,
				  &reply, &err), KF_OK);
	assert_true(growth.calls > 0);
	assert_int_equal(growth.text, reply.text.len);
	assert_int_equal(growth.reasoning, reply.reasoning.len);
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

static void test_senseless_settings_are_sentences(void **state)
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_shape_of_a_good_answer_is_read),
		cmocka_unit_test(test_tokens_and_model_are_the_services),
		cmocka_unit_test(test_reasoning_without_text_is_data),
		cmocka_unit_test(test_a_prompt_cut_in_silence_is_noted),
		cmocka_unit_test(test_invalid_bytes_never_leave),
		cmocka_unit_test(test_a_refused_member_is_changed_once),
		cmocka_unit_test(test_a_reply_too_long_is_asked_shorter),
		cmocka_unit_test(test_failures_name_the_thing),
		cmocka_unit_test(test_tries_end_and_are_talked_about),
		cmocka_unit_test(test_the_server_says_when_to_come_back),
		cmocka_unit_test(test_cancel_ends_the_wait_for_the_next_try),
		cmocka_unit_test(test_progress_grows_to_the_whole_reply),
		cmocka_unit_test(test_silence_is_a_stall_and_comments_are_not),
		cmocka_unit_test(test_nobody_there_is_unavailable),
		cmocka_unit_test(test_senseless_settings_are_sentences),
		cmocka_unit_test(test_the_public_service_needs_a_key),
	};

	return cmocka_run_group_tests(tests, world_begin, world_end);
}
