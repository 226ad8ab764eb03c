/* link: src/cli/options.c libkforge.a */
/* The command line's tables and parser. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/options.h"

#define WORDS_MAX 8

static const struct kf_command command = {
	.name = "bake",
	.arguments = "CAKE [ICING]",
	.summary = "for tests",
	.options = "attempts target set json verbose rules reply-timeout help",
	.argument_min = 1,
	.argument_max = 2,
};

static size_t count_words(const char *const *word)
{
	size_t count = 0;

	while (word[count])
		count++;
	return count;
}

static enum kf_code parse(const char *const *word, struct kf_options *options,
			  struct kf_list *argument, struct kf_err *err)
{
	kf_options_init(options);
	return kf_options_parse(&command, (int)count_words(word),
				(char **)(uintptr_t)word, options, argument,
				err);
}

static void test_mistakes_are_sentences(void **state)
{
	static const struct {
		const char *word[WORDS_MAX];
		const char *sentence;	/* part of it */
	} rows[] = {
		{ { NULL }, "usage: kforge bake CAKE [ICING]" },
		{ { "a", "b", "c", NULL }, "'c' is one argument too many" },
		{ { "a", "--atempts", "3", NULL }, "did you mean --attempts?" },
		{ { "a", "--model", "x", NULL }, "has no option --model" },
		{ { "a", "-z", NULL }, "has no option -z" },
		{ { "a", "--attempts", "three", NULL }, "a whole number above 0, not 'three'" },
		{ { "a", "--attempts=0", NULL }, "a whole number above 0, not '0'" },
		{ { "a", "--attempts=-3", NULL }, "a whole number above 0, not '-3'" },
		{ { "a", "--attempts=4294967297", NULL }, "--attempts can be at most 10000, not 4294967297" },
		{ { "a", "--reply-timeout=0", NULL }, "a number above 0, not '0'" },
		{ { "a", "--reply-timeout=1e300", NULL }, "--reply-timeout can be at most 1000000, not 1e300" },
		{ { "a", "--attempts", NULL }, "--attempts wants a value" },
		{ { "a", "--target=fast", NULL }, "a number of at least 0, not 'fast'" },
		{ { "a", "--target=nan", NULL }, "a number of at least 0, not 'nan'" },
		{ { "a", "--json=yes", NULL }, "--json takes no value" },
		{ { "a", "--rules", "mine", NULL }, "--rules 'mine' is not one of: kforge, kernelbench" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_options options;
		struct kf_list argument;
		struct kf_err err = { 0 };

		assert_int_equal(parse(rows[i].word, &options, &argument,
				       &err), KF_E_INPUT);
		if (!strstr(err.text, rows[i].sentence))
			print_error("wanted '%s', got '%s'\n",
				    rows[i].sentence, err.text);
		assert_non_null(strstr(err.text, rows[i].sentence));
		kf_options_release(&options);
		free(argument.text);
	}
}

static void test_values_arrive_in_every_spelling(void **state)
{
	static const char *const spelling[][WORDS_MAX] = {
		{ "cake", "-n3", "-vv", "-j", "--set", "A=1", "--set=B=2" },
		{ "-n", "3", "--set", "A=1", "-vvj", "cake", "--set=B=2" },
		{ "--attempts=3", "-v", "-jv", "--set=A=1", "--set", "B=2", "--", "cake" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(spelling); i++) {
		const char *word[WORDS_MAX + 1] = { 0 };
		struct kf_options options;
		struct kf_list argument;
		struct kf_err err = { 0 };

		memcpy(word, spelling[i], sizeof(spelling[i]));
		assert_int_equal(parse(word, &options, &argument, &err),
				 KF_OK);
		assert_int_equal(options.attempts, 3);
		assert_int_equal(options.verbose, 2);
		assert_true(options.json);
		assert_int_equal(options.set.count, 2);
		assert_string_equal(options.set.text[0], "A=1");
		assert_string_equal(options.set.text[1], "B=2");
		assert_int_equal(argument.count, 1);
		assert_string_equal(argument.text[0], "cake");
		kf_options_release(&options);
		free(argument.text);
	}
}

static void test_a_lone_dash_is_an_argument(void **state)
{
	const char *const word[] = { "cake", "-", NULL };
	struct kf_options options;
	struct kf_list argument;
	struct kf_err err = { 0 };

	(void)state;
	assert_int_equal(parse(word, &options, &argument, &err), KF_OK);
	assert_int_equal(argument.count, 2);
	assert_string_equal(argument.text[1], "-");
	kf_options_release(&options);
	free(argument.text);
}

static void test_defaults_are_what_help_says(void **state)
{
	struct kf_options options;

	(void)state;
	kf_options_init(&options);
	assert_int_equal(options.attempts, 5);
	assert_string_equal(options.platform, "cpu");
	assert_true(isnan(options.target));
	assert_int_equal(options.rules, KF_RULES_KFORGE);
	assert_int_equal(options.baseline, KF_BASELINE_LIVE);
	kf_options_release(&options);
}

static void test_help_lists_what_the_command_takes(void **state)
{
	struct kf_buf text = { .max = 1u << 16 };

	(void)state;
	kf_options_help(&command, &text);
	assert_non_null(strstr(kf_buf_str(&text), "kforge bake CAKE [ICING]"));
	assert_non_null(strstr(kf_buf_str(&text), "-n, --attempts N"));
	assert_null(strstr(kf_buf_str(&text), "--model"));
	kf_buf_release(&text);
}

static void test_the_closest_name_is_close(void **state)
{
	static const char *const name[] = { "run", "resume", "verify" };

	(void)state;
	assert_string_equal(kf_closest("verfy", name, 3), "verify");
	assert_string_equal(kf_closest("resmue", name, 3), "resume");
	assert_null(kf_closest("elephant", name, 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mistakes_are_sentences),
		cmocka_unit_test(test_values_arrive_in_every_spelling),
		cmocka_unit_test(test_a_lone_dash_is_an_argument),
		cmocka_unit_test(test_defaults_are_what_help_says),
		cmocka_unit_test(test_help_lists_what_the_command_takes),
		cmocka_unit_test(test_the_closest_name_is_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
