#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "provider/record.h"
#include "provider/replay.h"

#define HEADER	"{\"kforge_replay\":1}\n"
#define ONE	"{\"problem\":\"p\",\"attempt\":1,\"text\":\"one\"}\n"
#define TWO	"{\"problem\":\"p\",\"attempt\":2,\"text\":\"two\"}\n"

static void test_files_are_read_or_refused_with_the_line(void **state)
{
	static const struct {
		const char *text;
		enum kf_code code;
		size_t entries, damaged_line;
		const char *words;
	} rows[] = {
		{ HEADER, KF_OK, 0, 0, "" },
		{ HEADER ONE TWO, KF_OK, 2, 0, "" },
		{ HEADER "\n" ONE "  \r\n" TWO "\n\n", KF_OK, 2, 0, "" },
		{ HEADER "{\"problem\":\"p\",\"attempt\":1,\"text\":\"no line end\"}", KF_OK, 1, 0, "" },
		{ HEADER ONE "{\"problem\":\"p\",\"att", KF_OK, 1, 3, "" },
		{ HEADER ONE "{\"problem\":\"p\",\"att\n\n", KF_OK, 1, 3, "" },
		{ HEADER ONE "\xff", KF_OK, 1, 3, "" },
		{ HEADER "{\"problem\":\"p\",\"att\n" ONE, KF_E_INPUT, 0, 0, "x line 2 is not valid JSON: column " },
		{ HEADER "[1]\n", KF_E_INPUT, 0, 0, "x line 2: not an object" },
		{ HEADER ONE "{\"problem\":1,\"attempt\":1,\"text\":\"\"}\n", KF_E_INPUT, 0, 0, "x line 3: \"problem\" must be a string" },
		{ HEADER "{\"problem\":\"p\",\"attempt\":1.5,\"text\":\"\"}\n", KF_E_INPUT, 0, 0, "\"attempt\" must be a whole number" },
		{ HEADER "{\"problem\":\"p\",\"attempt\":-1,\"text\":\"\"}\n", KF_E_INPUT, 0, 0, "\"attempt\" is negative" },
		{ HEADER "{\"problem\":\"p\",\"attempt\":1}\n", KF_E_INPUT, 0, 0, "\"text\" must be a string" },
		{ HEADER "{\"problem\":\"p\",\"attempt\":1,\"text\":\"\",\"tokens_in\":-4}\n", KF_E_INPUT, 0, 0, "\"tokens_in\" is negative" },
		{ HEADER "{\"problem\":\"p\",\"problem\":\"q\",\"attempt\":1,\"text\":\"\"}\n" ONE, KF_E_INPUT, 0, 0, "line 2" },
		{ "", KF_E_INPUT, 0, 0, "x holds no recorded replies: its first line must be {\"kforge_replay\":1}" },
		{ "\n" HEADER, KF_E_INPUT, 0, 0, "no recorded replies" },
		{ ONE, KF_E_INPUT, 0, 0, "no recorded replies" },
		{ "a\x01\x02", KF_E_INPUT, 0, 0, "no recorded replies" },
		{ "{\"kforge_replay\":\"1\"}\n", KF_E_INPUT, 0, 0, "no recorded replies" },
		{ "{\"kforge_replay\":2}\n" ONE, KF_E_INPUT, 0, 0, "x is of version 2, this kforge reads version 1" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_replay replay;
		struct kf_err err = { 0 };
		enum kf_code code = kf_replay_parse(rows[i].text,
			strlen(rows[i].text), "x", &replay, &err);

		if (code != rows[i].code || !strstr(err.text, rows[i].words))
			fail_msg("row %zu: %s, '%s'", i, kf_code_name(code),
				 err.text);
		if (!code) {
			assert_int_equal(json_array_size(replay.entries),
					 rows[i].entries);
			assert_int_equal(replay.damaged_line,
					 rows[i].damaged_line);
		}
		kf_replay_release(&replay);
	}
}

static struct kf_reply empty_reply(void)
{
	return (struct kf_reply) {
		.text.max = KF_REPLY_BYTES, .reasoning.max = KF_REPLY_BYTES,
	};
}

static const json_t *find(const struct kf_replay *replay,
			  const char *problem, unsigned attempt)
{
	return kf_replay_find(replay, &(struct kf_ask) {
		.problem = problem, .attempt = attempt,
	});
}

static void test_each_agent_has_replies_of_its_own(void **state)
{
	static const char text[] = HEADER ONE
		"{\"problem\":\"p\",\"attempt\":1,\"agent\":\"advisor\",\"text\":\"advice\"}\n"
		"{\"problem\":\"p\",\"attempt\":1,\"agent\":\"other\",\"text\":\"more\"}\n";
	static const struct { const char *agent, *text; } rows[] = {
		{ NULL, "one" }, { "advisor", "advice" }, { "other", "more" },
		{ "advisor_again", "" },
	};
	const struct kf_message message = { KF_ROLE_USER, "prompt" };
	struct kf_reply reply = empty_reply();
	struct kf_replay replay;
	struct kf_err err = { 0 };

	(void)state;
	assert_int_equal(kf_replay_parse(text, sizeof(text) - 1, "x", &replay,
					 &err), KF_OK);
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_ask ask = {
			.problem = "p", .attempt = 1, .agent = rows[i].agent,
			.message = &message, .message_count = 1,
		};
		json_t *entry = kf_replay_entry(&ask, &reply);

		assert_string_equal(kf_json_str(kf_replay_find(&replay, &ask),
						"text", ""), rows[i].text);
		assert_string_equal(kf_json_str(entry, "agent", "none"),
				    rows[i].agent ? rows[i].agent : "none");
		json_decref(entry);
	}
	kf_reply_release(&reply);
	kf_replay_release(&replay);
}

static void test_entries_are_found_by_problem_and_attempt(void **state)
{
	struct kf_reply reply = empty_reply();
	struct kf_replay replay;
	struct kf_err err = { 0 };

	(void)state;
	assert_int_equal(kf_replay_read("tests/data/provider/good.jsonl",
					&replay, &err), KF_OK);
	assert_null(find(&replay, "softmax", 3));
	assert_null(find(&replay, "soft", 1));
	assert_int_equal(kf_replay_fill(find(&replay, "softmax", 1),
					&reply, &err), KF_OK);
	assert_string_equal(kf_buf_str(&reply.text), "half");
	assert_int_equal(reply.finish, KF_REPLY_LENGTH);
	assert_true(reply.tokens_reported);
	assert_int_equal(reply.tokens_in, 10);
	assert_int_equal(reply.tokens_out, 20);
	assert_string_equal(reply.model, "m-1");
	kf_reply_release(&reply);
	kf_replay_release(&replay);
}

static void test_of_two_entries_the_later_counts(void **state)
{
	struct kf_reply reply = empty_reply();
	struct kf_replay replay;
	struct kf_err err = { 0 };

	(void)state;
	assert_int_equal(kf_replay_read("tests/data/provider/good.jsonl",
					&replay, &err), KF_OK);
	assert_int_equal(kf_replay_fill(find(&replay, "softmax", 2),
					&reply, &err), KF_OK);
	assert_string_equal(kf_buf_str(&reply.text), "asked again");
	assert_int_equal(reply.finish, KF_REPLY_STOP);
	assert_false(reply.tokens_reported);
	kf_reply_release(&reply);
	kf_replay_release(&replay);
}

static void test_an_entry_gives_back_the_reply(void **state)
{
	static const enum kf_reply_finish finishes[] = {
		KF_REPLY_NONE, KF_REPLY_STOP, KF_REPLY_LENGTH,
		KF_REPLY_REFUSED, KF_REPLY_OTHER,
	};
	const struct kf_message message = { KF_ROLE_USER, "prompt" };
	struct kf_ask ask = {
		.problem = "p", .attempt = 4, .message = &message,
		.message_count = 1,
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(finishes); i++) {
		struct kf_reply reply = empty_reply(), again = empty_reply();
		char hash[KF_HASH_HEX];
		json_t *entry;

		reply.finish = finishes[i];
		reply.tokens_reported = i % 2;
		reply.tokens_in = i % 2 ? 17 : 0;
		snprintf(reply.finish_text, sizeof(reply.finish_text), "why");
		snprintf(reply.note, sizeof(reply.note), "odd");
		kf_buf_puts(&reply.text, "a \xe2\x82\xac\r\n\"");
		kf_buf_puts(&reply.reasoning, "hm");
		entry = kf_replay_entry(&ask, &reply);
		kf_hash_hex("prompt", 6, hash);
		assert_string_equal(kf_json_str(entry, "prompt_sha256", ""),
				    hash);
		assert_int_equal(kf_json_int(entry, "attempt", 0), 4);
		assert_int_equal(kf_replay_fill(entry, &again, NULL), KF_OK);
		assert_int_equal(again.finish, reply.finish);
		assert_int_equal(again.tokens_reported, reply.tokens_reported);
		assert_int_equal(again.tokens_in, reply.tokens_in);
		assert_string_equal(again.finish_text, "why");
		assert_string_equal(again.note, "odd");
		assert_string_equal(kf_buf_str(&again.text),
				    kf_buf_str(&reply.text));
		assert_string_equal(kf_buf_str(&again.reasoning), "hm");
		json_decref(entry);
		kf_reply_release(&reply);
		kf_reply_release(&again);
	}
}

/* A copy of a file of ours that a test may append to. */
static char *copy_of(const char *name)
{
	char *path = kf_strdup("/tmp/kforge-record-XXXXXX");
	struct kf_buf text = { .max = 1u << 20 };
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(kf_file_read(name, &text, NULL), KF_OK);
	assert_int_equal(kf_file_write(path, kf_buf_str(&text), text.len,
				       NULL), KF_OK);
	kf_buf_release(&text);
	return path;
}

static void add_to(const char *path, const char *text)
{
	const struct kf_message message = { KF_ROLE_USER, "prompt" };
	struct kf_ask ask = {
		.problem = "added", .attempt = 1, .message = &message,
		.message_count = 1,
	};
	struct kf_reply reply = empty_reply();
	struct kf_record *record;
	struct kf_err err = { 0 };

	if (kf_record_open(path, &record, &err))
		fail_msg("%s", err.text);
	kf_buf_puts(&reply.text, text);
	assert_int_equal(kf_record_add(record, &ask, &reply, &err), KF_OK);
	kf_record_close(record);
	kf_reply_release(&reply);
}

static void test_an_entry_names_the_pictures_shown(void **state)
{
	const struct kf_message message = { KF_ROLE_USER, "prompt" };
	const struct kf_picture picture = { "/a.png", "foobar", 6 };
	struct kf_ask ask = {
		.problem = "p", .attempt = 4, .message = &message,
		.message_count = 1, .picture = &picture, .picture_count = 1,
	};
	struct kf_reply reply = empty_reply(), again = empty_reply();
	json_t *entry = kf_replay_entry(&ask, &reply), *one;
	char hash[KF_HASH_HEX];

	(void)state;
	one = json_array_get(json_object_get(entry, "pictures"), 0);
	kf_hash_hex("foobar", 6, hash);
	assert_string_equal(kf_json_str(one, "sha256", ""), hash);
	assert_string_equal(kf_json_str(one, "path", ""), "/a.png");
	assert_int_equal(kf_json_int(one, "bytes", 0), 6);
	assert_int_equal(kf_replay_fill(entry, &again, NULL), KF_OK);
	json_decref(entry);
	ask.picture_count = 0;
	entry = kf_replay_entry(&ask, &reply);
	assert_null(json_object_get(entry, "pictures"));
	json_decref(entry);
	kf_reply_release(&reply);
	kf_reply_release(&again);
}

static void test_recording_goes_on_after_a_kill(void **state)
{
	static const struct { const char *file; size_t entries; } rows[] = {
		{ "tests/data/provider/good.jsonl", 3 },
		{ "tests/data/provider/cut.jsonl", 1 },
		{ "/dev/null", 0 },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		char *path = copy_of(rows[i].file);
		struct kf_replay replay;
		struct kf_err err = { 0 };

		add_to(path, "first");
		add_to(path, "second");
		if (kf_replay_read(path, &replay, &err))
			fail_msg("%s: %s", rows[i].file, err.text);
		assert_int_equal(replay.damaged_line, 0);
		assert_int_equal(json_array_size(replay.entries),
				 rows[i].entries + 2);
		assert_string_equal(kf_json_str(find(&replay, "added", 1),
						"text", ""), "second");
		kf_replay_release(&replay);
		unlink(path);
		free(path);
	}
}

static void test_a_last_line_without_its_end_is_kept(void **state)
{
	char *path = copy_of("/dev/null");
	struct kf_replay replay;

	(void)state;
	assert_int_equal(kf_file_write(path, HEADER ONE,
				       strlen(HEADER ONE) - 1, NULL), KF_OK);
	add_to(path, "next");
	assert_int_equal(kf_replay_read(path, &replay, NULL), KF_OK);
	assert_int_equal(json_array_size(replay.entries), 2);
	kf_replay_release(&replay);
	unlink(path);
	free(path);
}

static void test_nothing_is_recorded_into_another_file(void **state)
{
	struct kf_record *record;
	struct kf_err err = { 0 };

	(void)state;
	assert_int_equal(kf_record_open("tests/unit/provider_replay.c",
					&record, &err), KF_E_INPUT);
	assert_null(record);
	assert_non_null(strstr(err.text, "holds no recorded replies"));
	assert_int_equal(kf_record_open("/no/such/folder/file", &record,
					&err), KF_E_IO);
	assert_int_equal(kf_record_open("/tmp", &record, &err), KF_E_IO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files_are_read_or_refused_with_the_line),
		cmocka_unit_test(test_each_agent_has_replies_of_its_own),
		cmocka_unit_test(test_entries_are_found_by_problem_and_attempt),
		cmocka_unit_test(test_of_two_entries_the_later_counts),
		cmocka_unit_test(test_an_entry_gives_back_the_reply),
		cmocka_unit_test(test_an_entry_names_the_pictures_shown),
		cmocka_unit_test(test_recording_goes_on_after_a_kill),
		cmocka_unit_test(test_a_last_line_without_its_end_is_kept),
		cmocka_unit_test(test_nothing_is_recorded_into_another_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
