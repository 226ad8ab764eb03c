/*
 * The promises of <kforge/provider.h>, asked of every provider; then those of
 * exec, manual and replay alone. provider_openai.c has openai's.
 */
#include "provider_world.h"

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

/* --- promises of all ------------------------------------------------------ */

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
		assert_true(kf_now_ns() - start_ns < A_SECOND_NS);
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
		assert_true(kf_now_ns() - start_ns < A_SECOND_NS);
		assert_true(strlen(err.text) > 10);
		kf_reply_release(&reply);
	}
}

static void test_a_reply_over_the_ceiling_is_cut_there(void **state)
{
	const struct world *w = *state;
	struct kf_message message = user_says("hello");
	struct kf_ask ask = ask_of(&message);

	for (size_t i = 0; i < KF_COUNT(subjects); i++) {
		struct kf_reply reply;
		struct kf_err err = { 0 };

		if (ask_once(w, subjects[i].flood, &ask, &reply, &err))
			fail_msg("%s: %s", subjects[i].name, err.text);
		assert_int_equal(reply.text.len, KF_REPLY_BYTES);
		assert_int_equal(reply.finish, KF_REPLY_LENGTH);
		assert_non_null(strstr(reply.note, "cut at 16777216 bytes"));
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

/* --- exec, manual, replay ------------------------------------------------- */

static void test_exec_gets_prompt_and_address(void **state)
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
	assert_int_equal(ask_once(*state, "exec:cat; printf ' %s %s %s' "
			 "$KFORGE_PROBLEM $KFORGE_ATTEMPT $KFORGE_AGENT", &ask,
			 &reply, &err), KF_OK);
	assert_string_equal(kf_buf_str(&reply.text),
			    "be brief\n\nhello softmax 3 generator");
	kf_reply_release(&reply);
	ask.agent = "advisor";
	assert_int_equal(ask_once(*state, "exec:printf %s $KFORGE_AGENT", &ask,
				  &reply, &err), KF_OK);
	assert_string_equal(kf_buf_str(&reply.text), "advisor");
	unsetenv("KFORGE_PROBLEM");
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
	ask.agent = "advisor";
	assert_int_equal(ask_once(*state, "manual:DIR/slow", &ask, &reply,
				  &err), KF_E_TIMEOUT);
	assert_non_null(strstr(err.text, "/slow/_._up.1.advisor.reply.md"));
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
	ask.agent = "advisor";
	assert_int_equal(ask_once(*state, "replay:DIR/replay", &ask, &reply,
				  &err), KF_E_UNAVAIL);
	assert_non_null(strstr(err.text, "attempt 7, advisor"));
	kf_reply_release(&reply);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_text_arrives_whole_and_exact),
		cmocka_unit_test(test_cancel_stops_within_a_second),
		cmocka_unit_test(test_the_deadline_is_honoured),
		cmocka_unit_test(test_a_reply_over_the_ceiling_is_cut_there),
		cmocka_unit_test(test_a_name_without_argument_is_a_sentence),
		cmocka_unit_test(test_a_question_without_deadline_is_refused),
		cmocka_unit_test(test_what_is_recorded_replays_the_same),
		cmocka_unit_test(test_exec_gets_prompt_and_address),
		cmocka_unit_test(test_exec_endings),
		cmocka_unit_test(test_manual_waits_until_the_reply_is_finished),
		cmocka_unit_test(test_manual_says_which_file_it_waited_for),
		cmocka_unit_test(test_replay_names_what_is_missing),
	};

	return cmocka_run_group_tests(tests, world_begin, world_end);
}
