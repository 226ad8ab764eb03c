#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "provider/chat.h"

#define TEXT(s)	"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" \
		s "\"},\"finish_reason\":null}]}\n\n"
#define END(s)	"data: {\"choices\":[{\"index\":0,\"delta\":{}," \
		"\"finish_reason\":\"" s "\"}]}\n\n"
#define DONE	"data: [DONE]\n\n"

struct seen {
	enum kf_chat_end end;
	char summary[2048];
};

static struct seen read_answer(const char *bytes, size_t len, size_t step)
{
	struct kf_reply reply = {
		.text.max = KF_REPLY_BYTES, .reasoning.max = KF_REPLY_BYTES,
	};
	struct kf_chat chat;
	struct seen seen;

	kf_chat_init(&chat, &reply, NULL);
	for (size_t i = 0; i < len; i += step)
		if (!kf_chat_feed(&chat, bytes + i,
				  len - i < step ? len - i : step))
			break;
	seen.end = kf_chat_end(&chat);
	snprintf(seen.summary, sizeof(seen.summary),
		 "%s|%s|%s %s|%llu %llu|%s|%s|%s", kf_buf_str(&reply.text),
		 kf_buf_str(&reply.reasoning),
		 kf_reply_finish_name(reply.finish), reply.finish_text,
		 (unsigned long long)reply.tokens_in,
		 (unsigned long long)reply.tokens_out, reply.note,
		 chat.error.message, chat.strange);
	kf_chat_release(&chat);
	kf_reply_release(&reply);
	return seen;
}

static void test_each_ending_has_its_meaning_however_cut(void **state)
{
	static const struct {
		const char *bytes;
		enum kf_chat_end end;
		const char *words;	/* in the summary */
	} rows[] = {
		{ TEXT("a") END("stop") DONE, KF_CHAT_WHOLE, "a||stop stop|" },
		{ TEXT("a"), KF_CHAT_BROKEN, "a||none" },
		{ TEXT("a") DONE, KF_CHAT_WHOLE, "a||none |0 0|the service did not say" },
		{ TEXT("a") TEXT("") DONE, KF_CHAT_WHOLE, "a||none" },
		{ "data: {\"choices\":[]}\n\n" DONE, KF_CHAT_BROKEN, "" },
		{ TEXT("a") END("length"), KF_CHAT_WHOLE, "a||length length" },
		{ TEXT("a") END("model_length") DONE, KF_CHAT_WHOLE, "other model_length" },
		{ TEXT("a") END("content_filter") DONE, KF_CHAT_WHOLE, "refused" },
		{ TEXT("a") END("stop") "data: {\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}\n\n" DONE, KF_CHAT_WHOLE, "|3 4|" },
		{ TEXT("a") END("stop") "data: {\"usage\":{\"prompt_tok", KF_CHAT_WHOLE, "a||stop" },
		{ TEXT("a") END("stop") "data: {\"usage\":null}\n\n" DONE, KF_CHAT_WHOLE, "|0 0|" },
		{ TEXT("a") "data: {\"cho\n\n" END("stop") DONE, KF_CHAT_BROKEN, "" },
		{ TEXT("a") "data: {\"error\":{\"message\":\"no\"}}\n\n" END("stop"), KF_CHAT_ERROR, "|no|" },
		{ TEXT("a") "data: {\"error\":null,\"choices\":[]}\n\n" END("stop"), KF_CHAT_WHOLE, "a|" },
		{ TEXT("a") "event: error\ndata: went wrong\n\n", KF_CHAT_ERROR, "|went wrong|" },
		{ "data: {\"choices\":[{\"error\":{\"message\":\"no\",\"code\":502}}]}\n\n", KF_CHAT_ERROR, "|no|" },
		{ "data: {\"choices\":[{\"delta\":{\"refusal\":\"no\"},\"finish_reason\":\"stop\"}]}\n\n", KF_CHAT_WHOLE, "|refused stop|0 0|the model refused: no" },
		{ "data: {\"choices\":[{\"delta\":{\"refusal\":\"\",\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n", KF_CHAT_WHOLE, "a||stop" },
		{ "data: {\"choices\":[{\"delta\":{\"reasoning\":\"r\",\"reasoning_content\":\"r\"},\"finish_reason\":\"length\"}]}\n\n", KF_CHAT_WHOLE, "|r|length length|0 0|no text, only 1 bytes of reasoning" },
		{ "data: {\"choices\":[{\"delta\":{\"content\":\"<think>t</think>a\"},\"finish_reason\":\"stop\"}]}\n\n", KF_CHAT_WHOLE, "<think>t</think>a||stop" },
		{ "{\"choices\":[{\"message\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}", KF_CHAT_WHOLE, "a||stop" },
		{ "\n\xef\xbb\xbf {\"choices\":[{\"message\":{\"content\":null},\"finish_reason\":\"stop\"}]}\n", KF_CHAT_WHOLE, "||stop" },
		{ "{\"choices\":[{\"message\":{\"content\":\"a\"}}]}", KF_CHAT_WHOLE, "a||none |0 0|the service did not say" },
		{ "{\"choices\":[{\"message\":{\"content\":\"a", KF_CHAT_BROKEN, "" },
		{ "{\"choices\":[]}", KF_CHAT_BROKEN, "" },
		{ "{\"choices\":null}", KF_CHAT_STRANGE, "" },
		{ "{\"status\":\"ok\"}", KF_CHAT_STRANGE, "|{\"status\":\"ok\"}" },
		{ "[1,2]", KF_CHAT_STRANGE, "|[1,2]" },
		{ "[{\"error\":{\"message\":\"no\"}}]", KF_CHAT_ERROR, "|no|" },
		{ "{\"object\":\"error\",\"message\":\"no\",\"code\":40901}", KF_CHAT_ERROR, "|no|" },
		{ "{\"error\":\"no\"}", KF_CHAT_ERROR, "|no|" },
		{ "{\"detail\":\"Not Found\"}", KF_CHAT_ERROR, "|Not Found|" },
		{ "<html>\n<h1>Hi</h1>", KF_CHAT_STRANGE, "|<html> <h1>Hi</h1>" },
		{ "upstream says no", KF_CHAT_STRANGE, "|upstream says no" },
		{ ": wait\n\n", KF_CHAT_BROKEN, "" },
		{ "dat", KF_CHAT_BROKEN, "" },
		{ "", KF_CHAT_BROKEN, "" },
		{ " \n", KF_CHAT_BROKEN, "" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		size_t len = strlen(rows[i].bytes);
		struct seen whole = read_answer(rows[i].bytes, len, len + 1);

		if (whole.end != rows[i].end ||
		    !strstr(whole.summary, rows[i].words))
			fail_msg("row %zu: end %d, %s", i, (int)whole.end,
				 whole.summary);
		for (size_t step = 1; step <= len; step++) {
			struct seen seen = read_answer(rows[i].bytes, len,
						       step);

			assert_int_equal(seen.end, whole.end);
			assert_string_equal(seen.summary, whole.summary);
		}
	}
}

static void test_every_error_has_its_cure(void **state)
{
	static const struct {
		const char *body;
		long status;
		enum kf_chat_cure cure;
		struct kf_chat_quirks learnt;
	} rows[] = {
		{ "{\"error\":{\"message\":\"no\",\"param\":\"max_tokens\",\"code\":\"unsupported_parameter\"}}", 400, KF_CHAT_ADAPT, { .completion_tokens = true } },
		{ "{\"error\":{\"message\":\"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.\"}}", 400, KF_CHAT_ADAPT, { .completion_tokens = true } },
		{ "{\"error\":{\"message\":\"max_tokens is too large: 99\",\"param\":\"max_tokens\",\"code\":\"invalid_value\"}}", 400, KF_CHAT_GIVE_UP, { 0 } },
		{ "{\"error\":{\"message\":\"max_tokens is not supported\"}}", 500, KF_CHAT_RETRY, { 0 } },
		{ "{\"error\":{\"message\":\"only 1\",\"param\":\"temperature\",\"code\":\"unsupported_value\"}}", 400, KF_CHAT_ADAPT, { .no_temperature = true } },
		{ "{\"error\":{\"message\":\"no\",\"param\":\"temperature\",\"code\":\"unsupported_parameter\"}}", 400, KF_CHAT_ADAPT, { .no_temperature = true } },
		{ "{\"error\":{\"message\":\"temperature must be below 2\",\"param\":\"temperature\"}}", 400, KF_CHAT_GIVE_UP, { 0 } },
		{ "{\"detail\":[{\"type\":\"extra_forbidden\",\"loc\":[\"body\",\"stream_options\"]}]}", 422, KF_CHAT_ADAPT, { .no_usage = true } },
		{ "{\"error\":{\"message\":\"no\",\"code\":\"context_length_exceeded\"}}", 400, KF_CHAT_CONTEXT, { 0 } },
		{ "{\"error\":{\"message\":\"no\",\"type\":\"exceed_context_size_error\",\"code\":500}}", 500, KF_CHAT_CONTEXT, { 0 } },
		{ "{\"object\":\"error\",\"message\":\"max_tokens must be at least 1, got -186.\",\"code\":400}", 400, KF_CHAT_CONTEXT, { 0 } },
		{ "{\"error\":{\"message\":\"no\"}}", 400, KF_CHAT_GIVE_UP, { 0 } },
		{ "{\"error\":{\"message\":\"no\"}}", 401, KF_CHAT_GIVE_UP, { 0 } },
		{ "{\"error\":{\"message\":\"no\"}}", 403, KF_CHAT_GIVE_UP, { 0 } },
		{ "{\"error\":{\"message\":\"no\"}}", 404, KF_CHAT_GIVE_UP, { 0 } },
		{ "{\"error\":{\"message\":\"no\"}}", 408, KF_CHAT_RETRY, { 0 } },
		{ "{\"error\":{\"message\":\"no\"}}", 429, KF_CHAT_RETRY, { 0 } },
		{ "{\"error\":{\"message\":\"pay\",\"code\":\"insufficient_quota\"}}", 429, KF_CHAT_GIVE_UP, { 0 } },
		{ "Bad Gateway", 502, KF_CHAT_RETRY, { 0 } },
		{ "", 503, KF_CHAT_RETRY, { 0 } },
		{ "{\"error\":{\"message\":\"no\"}}", 200, KF_CHAT_RETRY, { 0 } },
		{ "{\"error\":{\"message\":\"no\",\"code\":429}}", 200, KF_CHAT_RETRY, { 0 } },
		{ "{\"error\":{\"message\":\"no\",\"code\":403}}", 200, KF_CHAT_GIVE_UP, { 0 } },
		{ "{\"error\":{\"message\":\"no\",\"type\":\"invalid_request_error\"}}", 200, KF_CHAT_GIVE_UP, { 0 } },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		const struct kf_chat_quirks learnt = rows[i].learnt;
		struct kf_chat_quirks quirks = { 0 };
		struct kf_chat_error error;
		enum kf_chat_cure cure;

		kf_chat_error_read(rows[i].body, strlen(rows[i].body), NULL,
				   &error);
		assert_true(error.seen && error.message[0]);
		cure = kf_chat_cure(&error, rows[i].status, &quirks);
		if (cure != rows[i].cure ||
		    quirks.completion_tokens != learnt.completion_tokens ||
		    quirks.no_temperature != learnt.no_temperature ||
		    quirks.no_usage != learnt.no_usage)
			fail_msg("row %zu: cure %d", i, (int)cure);
		/* What was learnt once does not help a second time. */
		if (cure == KF_CHAT_ADAPT)
			assert_int_equal(kf_chat_cure(&error, rows[i].status,
						      &quirks),
					 KF_CHAT_GIVE_UP);
	}
}

static void test_context_errors_give_their_numbers(void **state)
{
	static const struct {
		const char *body;
		uint64_t prompt, window;
	} rows[] = {
		{ "{\"error\":{\"message\":\"This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (1000 in the messages, 8000 in the completion).\"}}", 1000, 8192 },
		{ "{\"error\":{\"message\":\"'max_tokens' is too large: 4096. This model's maximum context length is 4096 tokens and your request has 20 input tokens\"}}", 20, 4096 },
		{ "{\"error\":{\"message\":\"too long\",\"n_prompt_tokens\":9000,\"n_ctx\":4096}}", 9000, 4096 },
		{ "{\"error\":{\"message\":\"too long\",\"n_prompt_tokens\":-1,\"n_ctx\":-4}}", 0, 0 },
		{ "{\"error\":{\"message\":\"maximum context length is many\"}}", 0, 0 },
		{ "{\"error\":{\"message\":\"maximum context length is 99999999999999999999999 tokens\"}}", 0, 999999999999 },
		{ "{\"error\":{\"message\":\" in the messages\"}}", 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_chat_error error;

		kf_chat_error_read(rows[i].body, strlen(rows[i].body), NULL,
				   &error);
		assert_int_equal(error.prompt_tokens, rows[i].prompt);
		assert_int_equal(error.window_tokens, rows[i].window);
	}
}

static void test_requests_hold_what_was_asked_and_no_more(void **state)
{
	const struct kf_message message[] = {
		{ KF_ROLE_SYSTEM, "s" }, { KF_ROLE_USER, "u\xff\r\n\"\x01" },
	};
	struct kf_ask ask = {
		.message = message, .message_count = 2,
		.temperature = (double)NAN,
	};
	struct kf_chat_quirks quirks = { 0 };
	char *body = kf_chat_request("m", &ask, 0, &quirks);

	(void)state;
	assert_string_equal(body, "{\"model\":\"m\",\"messages\":["
		"{\"role\":\"system\",\"content\":\"s\"},"
		"{\"role\":\"user\",\"content\":\"u\xef\xbf\xbd\\r\\n\\\"\\u0001\"}],"
		"\"stream\":true,\"stream_options\":{\"include_usage\":true}}");
	free(body);
	ask.message_count = 1;
	ask.temperature = 0.5;
	body = kf_chat_request("m", &ask, 9, &quirks);
	assert_non_null(strstr(body, "\"max_tokens\":9,\"temperature\":0.5}"));
	free(body);
	quirks = (struct kf_chat_quirks) { true, true, true };
	body = kf_chat_request("m", &ask, 9, &quirks);
	assert_string_equal(body, "{\"model\":\"m\",\"messages\":[{\"role\":"
		"\"system\",\"content\":\"s\"}],\"stream\":true,"
		"\"max_completion_tokens\":9}");
	free(body);
}

static void test_pictures_are_parts_of_the_last_message(void **state)
{
	const struct kf_message message[] = {
		{ KF_ROLE_SYSTEM, "s" }, { KF_ROLE_USER, "u" },
	};
	const struct kf_picture picture[] = {
		{ "/a.png", "foobar", 6 }, { "/b.png", "f", 1 },
	};
	const struct kf_ask ask = {
		.message = message, .message_count = 2,
		.temperature = (double)NAN,
		.picture = picture, .picture_count = 2,
	};
	const struct kf_chat_quirks quirks = { .no_usage = true };
	char *body = kf_chat_request("m", &ask, 0, &quirks);

	(void)state;
	assert_string_equal(body, "{\"model\":\"m\",\"messages\":["
		"{\"role\":\"system\",\"content\":\"s\"},"
		"{\"role\":\"user\",\"content\":["
		"{\"type\":\"text\",\"text\":\"u\"},"
		"{\"type\":\"image_url\",\"image_url\":"
		"{\"url\":\"data:image/png;base64,Zm9vYmFy\"}},"
		"{\"type\":\"image_url\",\"image_url\":"
		"{\"url\":\"data:image/png;base64,Zg==\"}}]}],"
		"\"stream\":true}");
	free(body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pictures_are_parts_of_the_last_message),
		cmocka_unit_test(test_each_ending_has_its_meaning_however_cut),
		cmocka_unit_test(test_every_error_has_its_cure),
		cmocka_unit_test(test_context_errors_give_their_numbers),
		cmocka_unit_test(test_requests_hold_what_was_asked_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
