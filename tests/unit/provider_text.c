#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "provider/text.h"

#define KEY "sk-test-0123456789abcdefghij"

static void test_messages_are_joined_by_one_empty_line(void **state)
{
	const struct kf_message message[] = {
		{ KF_ROLE_SYSTEM, "one\n" }, { KF_ROLE_USER, "two" },
		{ KF_ROLE_ASSISTANT, "three\n" }, { KF_ROLE_USER, "four" },
	};
	struct kf_ask ask = { .message = message, .message_count = 4 };
	char *text = kf_text_join(&ask);

	(void)state;
	assert_string_equal(text, "one\n\ntwo\n\nthree\n\nfour");
	free(text);
	assert_int_equal(kf_text_bytes(&ask), 4 + 3 + 6 + 4);
	ask.message_count = 0;
	text = kf_text_join(&ask);
	assert_string_equal(text, "");
	free(text);
}

static void test_pictures_are_named_where_files_are_taken(void **state)
{
	const struct kf_message message = { KF_ROLE_USER, "look\n" };
	const struct kf_picture picture[] = { { .path = "/a b.png" },
					      { .path = "/c.png" } };
	struct kf_ask ask = { .message = &message, .message_count = 1 };
	char *text = kf_text_join_files(&ask);

	(void)state;
	assert_string_equal(text, "look\n");
	free(text);
	ask.picture = picture;
	ask.picture_count = 2;
	text = kf_text_join_files(&ask);
	assert_string_equal(text, "look\n\n\nPictures that belong to this:\n"
			    "/a b.png\n/c.png\n");
	free(text);
}

/* The rows of RFC 4648. */
static void test_bytes_in_base64(void **state)
{
	static const struct { const char *bytes, *text; } rows[] = {
		{ "", "" }, { "f", "Zg==" }, { "fo", "Zm8=" }, { "foo", "Zm9v" },
		{ "foob", "Zm9vYg==" }, { "fooba", "Zm9vYmE=" },
		{ "foobar", "Zm9vYmFy" }, { "\xff\xfe\xfb\xef", "//777w==" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_buf out = { .max = 100 };

		kf_text_base64(rows[i].bytes, strlen(rows[i].bytes), &out);
		assert_string_equal(kf_buf_str(&out), rows[i].text);
		kf_buf_release(&out);
	}
}

static void test_faulty_json_of_strangers_is_read(void **state)
{
	static const struct { const char *text, *value; } rows[] = {
		{ "\"a\"", "a" },
		{ "\"\xff\"", "\xef\xbf\xbd" },
		{ "\"\xc0\x80\"", "\xef\xbf\xbd\xef\xbf\xbd" },	/* overlong */
		{ "\"\\u0000\"", "\xef\xbf\xbd" },
		{ "\"\\ud83d\"", "\xef\xbf\xbd" },
		{ "\"\\ude00\"", "\xef\xbf\xbd" },
		{ "\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80" },
		{ "\"\\uD83D\\uD83D\\uDE00\"", "\xef\xbf\xbd\xf0\x9f\x98\x80" },
		{ "\"\\ud83d\\n\"", "\xef\xbf\xbd\n" },
		{ "\"\\\\ud83d\"", "\\ud83d" },
		{ "\"\\\\\\ud83d\"", "\\\xef\xbf\xbd" },
		{ "\"\\u00e9\"", "\xc3\xa9" },
		{ "\"\\ud83", NULL },
		{ "\"\\ud83d\\u", NULL },
		{ "\"a", NULL },
		{ "", NULL },
		{ "a", NULL },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		json_t *value = kf_text_json(rows[i].text,
					     strlen(rows[i].text));

		if (!rows[i].value)
			assert_null(value);
		else
			assert_string_equal(json_string_value(value),
					    rows[i].value);
		json_decref(value);
	}
}

static void test_repeated_keys_of_strangers_are_allowed(void **state)
{
	static const char text[] = "{\"a\":1,\"a\":2}";
	json_t *value = kf_text_json(text, strlen(text));

	(void)state;
	assert_int_equal(kf_json_int(value, "a", 0), 2);
	json_decref(value);
}

static void test_no_piece_of_a_key_is_quoted(void **state)
{
	static const struct { const char *text, *key, *quoted; } rows[] = {
		{ "bad key " KEY "!", KEY, "bad key [key]!" },
		{ KEY KEY, KEY, "[key][key]" },
		{ "sk-test-0123... is bad", KEY, "[key]... is bad" },
		{ "...456789abcdefghij", KEY, "...[key]" },
		{ "sk-test is short", KEY, "sk-test is short" },
		{ "the key none", "none", "the key [key]" },
		{ "nothing", NULL, "nothing" },
		{ "nothing", "", "nothing" },
		{ "  two\r\n\tlines  \n", NULL, "two lines" },
		{ "a\xff\x1b[2Jb", NULL, "a\xef\xbf\xbd?[2Jb" },
		{ "", KEY, "" },
		{ "0123456789012345678901234567890123456789012345678\xe2\x82\xac",
		  NULL, "0123456789012345678901234567890123456789012345678" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		char out[52];

		kf_text_quote(rows[i].text, strlen(rows[i].text), rows[i].key,
			      out, sizeof(out));
		assert_string_equal(out, rows[i].quoted);
	}
}

static void test_a_key_does_not_survive_a_cut(void **state)
{
	char out[16];

	(void)state;
	kf_text_quote("key " KEY, 4 + strlen(KEY), KEY, out, sizeof(out));
	assert_string_equal(out, "key [key]");
}

static void test_notes_gather_up_to_their_ceiling(void **state)
{
	struct kf_reply reply = { 0 };

	(void)state;
	kf_text_note(&reply, "one %d", 1);
	kf_text_note(&reply, "two");
	assert_string_equal(reply.note, "one 1; two");
	for (int i = 0; i < 100; i++)
		kf_text_note(&reply, "\xe2\x82\xac\xe2\x82\xac");
	assert_in_range(strlen(reply.note), 250, 255);
	assert_int_equal(kf_utf8_cut(reply.note, strlen(reply.note)),
			 strlen(reply.note));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages_are_joined_by_one_empty_line),
		cmocka_unit_test(test_pictures_are_named_where_files_are_taken),
		cmocka_unit_test(test_bytes_in_base64),
		cmocka_unit_test(test_faulty_json_of_strangers_is_read),
		cmocka_unit_test(test_repeated_keys_of_strangers_are_allowed),
		cmocka_unit_test(test_no_piece_of_a_key_is_quoted),
		cmocka_unit_test(test_a_key_does_not_survive_a_cut),
		cmocka_unit_test(test_notes_gather_up_to_their_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
