#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include <kforge/provider.h>

#include "base/base.h"

static void test_a_token_is_three_and_a_half_bytes(void **state)
{
	static const struct { size_t bytes; uint64_t tokens; } rows[] = {
		{ 0, 0 }, { 1, 1 }, { 3, 1 }, { 4, 2 }, { 7, 2 }, { 8, 3 },
		{ 3500, 1000 }, { (size_t)7 << 40, UINT64_C(2) << 40 },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++)
		assert_int_equal(kf_tokens_estimate(rows[i].bytes),
				 rows[i].tokens);
}

static void test_an_unknown_provider_lists_the_known(void **state)
{
	static const char *const names[] = {
		"", ":", "gpt-5", "open:gpt-5", "openaix:gpt-5",
		"OpenAI:gpt-5", "/some/file",
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(names); i++) {
		struct kf_model *model;
		struct kf_err err = { 0 };

		assert_int_equal(kf_model_open(names[i], NULL, &model, &err),
				 KF_E_INPUT);
		assert_null(model);
		assert_non_null(strstr(err.text, "one of openai, exec, manual, "
				       "replay, for example openai:gpt-5"));
	}
}

static void test_a_file_that_is_not_there_is_named(void **state)
{
	struct kf_model *model;
	struct kf_err err = { 0 };

	(void)state;
	assert_int_equal(kf_model_open("replay:no/such.jsonl", NULL, &model,
				       &err), KF_E_INPUT);
	assert_string_equal(err.text, "no file no/such.jsonl to replay from");
}

static void test_what_cannot_be_asked_is_refused(void **state)
{
	const struct kf_message good = { KF_ROLE_USER, "hello" };
	const struct kf_message no_text = { KF_ROLE_USER, NULL };
	const struct kf_message no_role = { (enum kf_message_role)9, "hello" };
	const struct kf_ask rows[] = {
		{ .attempt = 1, .message = &good, .message_count = 1, .timeout_ns = 1 },
		{ .problem = "", .attempt = 1, .message = &good, .message_count = 1, .timeout_ns = 1 },
		{ .problem = "p", .message = &good, .message_count = 1, .timeout_ns = 1 },
		{ .problem = "p", .attempt = 1, .timeout_ns = 1 },
		{ .problem = "p", .attempt = 1, .message = &good, .message_count = 1 },
		{ .problem = "p", .attempt = 1, .message = &no_text, .message_count = 1, .timeout_ns = 1 },
		{ .problem = "p", .attempt = 1, .message = &no_role, .message_count = 1, .timeout_ns = 1 },
	};
	struct kf_model *model;
	struct kf_err err = { 0 };

	(void)state;
	assert_int_equal(kf_model_open("exec:cat", NULL, &model, &err), KF_OK);
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_reply reply;

		assert_int_equal(kf_model_ask(model, &rows[i], &reply, &err),
				 KF_E_INPUT);
		assert_non_null(strstr(err.text, "the model cannot be asked"));
		assert_int_equal(reply.tries, 0);
		kf_reply_release(&reply);
	}
	kf_model_free(model);
	kf_model_free(NULL);
}

static void test_pictures_have_a_size_a_number_and_a_kind(void **state)
{
	static char big[KF_PICTURE_BYTES + 1] = "\x89PNG\r\n\x1a\n";
	const struct kf_message message = { KF_ROLE_USER, "hello" };
	const struct {
		struct kf_picture picture;
		size_t count;
		enum kf_code code;
		const char *words;
	} rows[] = {
		{ { "/a.png", big, KF_PICTURE_BYTES }, 1, KF_OK, "" },
		{ { "/a.png", big, sizeof(big) }, 1, KF_E_LIMIT,
		  "/a.png has 1048577 bytes" },
		{ { "/a.png", big, 100 }, KF_PICTURES_MAX + 1, KF_E_LIMIT,
		  "5 pictures are too many" },
		{ { "/a.gif", "GIF89a...", 9 }, 1, KF_E_INPUT,
		  "/a.gif is no picture" },
		{ { "a.png", big, 100 }, 1, KF_E_INPUT, "a.png is no picture" },
	};
	struct kf_model *model;
	struct kf_err err = { 0 };

	(void)state;
	assert_int_equal(kf_model_open("exec:cat", NULL, &model, &err), KF_OK);
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		const struct kf_ask ask = {
			.problem = "p", .attempt = 1, .message = &message,
			.message_count = 1, .timeout_ns = 60 * KF_NS_PER_S,
			.picture = &rows[i].picture,
			.picture_count = rows[i].count,
		};
		struct kf_reply reply;

		assert_int_equal(kf_model_ask(model, &ask, &reply, &err),
				 rows[i].code);
		if (rows[i].code)
			assert_non_null(strstr(err.text, rows[i].words));
		else
			assert_non_null(strstr(kf_buf_str(&reply.text),
					       "belong to this:\n/a.png\n"));
		kf_reply_release(&reply);
	}
	kf_model_free(model);
}

static void test_a_cut_recording_is_noted_and_blamed(void **state)
{
	const struct kf_message message = { KF_ROLE_USER, "hello" };
	struct kf_ask ask = {
		.problem = "softmax", .attempt = 1, .message = &message,
		.message_count = 1, .timeout_ns = KF_NS_PER_S,
	};
	struct kf_model *model;
	struct kf_reply reply;
	struct kf_err err = { 0 };

	(void)state;
	assert_int_equal(kf_model_open("replay:tests/data/provider/cut.jsonl",
				       NULL, &model, &err), KF_OK);
	assert_int_equal(kf_model_ask(model, &ask, &reply, &err), KF_OK);
	assert_string_equal(kf_buf_str(&reply.text), "one");
	assert_string_equal(reply.note, "line 3 of the recording is cut off");
	kf_reply_release(&reply);
	ask.attempt = 2;
	assert_int_equal(kf_model_ask(model, &ask, &reply, &err),
			 KF_E_UNAVAIL);
	assert_non_null(strstr(err.text, "no reply for softmax, attempt 2 (its "
			       "last line, 3, is cut off)"));
	kf_reply_release(&reply);
	kf_model_free(model);
}

/* A limit on the size of files stands in for a full disk. */
static void test_an_unrecorded_reply_is_not_lost(void **state)
{
	char *path = kf_strdup("/tmp/kforge-full-XXXXXX");
	const struct kf_message message = { KF_ROLE_USER, "hello" };
	struct kf_ask ask = {
		.problem = "p", .attempt = 1, .message = &message,
		.message_count = 1, .timeout_ns = 10 * KF_NS_PER_S,
	};
	struct kf_buf before = { .max = 1000 }, after = { .max = 1000 };
	void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
	struct rlimit usual, small;
	struct kf_model *model;
	struct kf_reply reply;
	struct kf_err err = { 0 };
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(kf_model_open("exec:cat", path, &model, &err), KF_OK);
	assert_int_equal(kf_file_read(path, &before, &err), KF_OK);
	getrlimit(RLIMIT_FSIZE, &usual);
	small = (struct rlimit) { before.len + 10, usual.rlim_max };
	setrlimit(RLIMIT_FSIZE, &small);
	assert_int_equal(kf_model_ask(model, &ask, &reply, &err), KF_OK);
	setrlimit(RLIMIT_FSIZE, &usual);
	assert_string_equal(kf_buf_str(&reply.text), "hello");
	assert_non_null(strstr(reply.note, "the reply was not recorded: "
			       "cannot write /tmp/kforge-full-"));
	assert_int_equal(kf_file_read(path, &after, &err), KF_OK);
	assert_string_equal(kf_buf_str(&after), kf_buf_str(&before));
	kf_buf_release(&before);
	kf_buf_release(&after);
	kf_reply_release(&reply);
	kf_model_free(model);
	signal(SIGXFSZ, handler);
	close(fd);
	unlink(path);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_token_is_three_and_a_half_bytes),
		cmocka_unit_test(test_an_unknown_provider_lists_the_known),
		cmocka_unit_test(test_a_file_that_is_not_there_is_named),
		cmocka_unit_test(test_what_cannot_be_asked_is_refused),
		cmocka_unit_test(test_pictures_have_a_size_a_number_and_a_kind),
		cmocka_unit_test(test_a_cut_recording_is_noted_and_blamed),
		cmocka_unit_test(test_an_unrecorded_reply_is_not_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
