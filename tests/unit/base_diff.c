/* Differences: as patch reads them, the smallest where that is affordable. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/base.h"

#define OUT_BYTES (64u << 20)

static char *diff(const char *old, const char *new)
{
	struct kf_buf out = { .max = OUT_BYTES };
	char *text;

	kf_diff(&(struct kf_diff_text) { "a", old, strlen(old) },
		&(struct kf_diff_text) { "b", new, strlen(new) }, &out);
	text = kf_strdup(kf_buf_str(&out));
	kf_buf_release(&out);
	return text;
}

static void test_small_differences_are_as_diff_has_them(void **state)
{
	static const struct { const char *old, *new, *want; } rows[] = {
		{ "", "", "" },
		{ "a\nb\n", "a\nb\n", "" },
		{ "", "a\n", "--- a\n+++ b\n@@ -0,0 +1,1 @@\n+a\n" },
		{ "a\n", "", "--- a\n+++ b\n@@ -1,1 +0,0 @@\n-a\n" },
		{ "a\nb\nc\n", "a\nx\nc\n",
		  "--- a\n+++ b\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n" },
		{ "a", "a\n", "--- a\n+++ b\n@@ -1,1 +1,1 @@\n-a\n"
		  "\\ No newline at end of file\n+a\n" },
		{ "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\n5\n6\n7\n8\nx\n",
		  "--- a\n+++ b\n@@ -6,4 +6,4 @@\n 6\n 7\n 8\n-9\n+x\n" },
		{ "x\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\n5\n6\n7\n8\nx\n",
		  "--- a\n+++ b\n@@ -1,4 +1,4 @@\n-x\n+1\n 2\n 3\n 4\n"
		  "@@ -6,4 +6,4 @@\n 6\n 7\n 8\n-9\n+x\n" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		char *got = diff(rows[i].old, rows[i].new);

		assert_string_equal(got, rows[i].want);
		free(got);
	}
}

/* --- applying ------------------------------------------------------------- */

/* The old text with the diff applied, strictly. */
static char *patch(const char *old, const char *text)
{
	struct kf_buf out = { .max = OUT_BYTES };
	const char *at = old;
	char *result;

	while (*text) {
		const char *end = strchr(text, '\n');
		size_t len = (size_t)(end - text) + 1;
		unsigned long line = 0, begin = 1;

		if (strncmp(text, "@@ -", 4) == 0) {
			begin = strtoul(text + 4, NULL, 10);
			for (const char *c = old; c < at; c++)
				line += *c == '\n';
			while (begin > line + 1) {
				size_t skip = strcspn(at, "\n") + 1;

				kf_buf_add(&out, at, skip);
				at += skip;
				line++;
			}
		} else if (strchr(" -", *text) && len > 1 &&
			   strncmp(text, "--- a", 5) != 0) {
			assert_memory_equal(at, text + 1, len - 1);
			at += len - 1;
		}
		if ((*text == ' ' || *text == '+') &&
		    strncmp(text, "+++ b", 5) != 0)
			kf_buf_add(&out, text + 1, len - 1);
		text += len;
	}
	kf_buf_puts(&out, at);
	result = kf_strdup(kf_buf_str(&out));
	kf_buf_release(&out);
	return result;
}

static void make_text(struct kf_rng *rng, uint64_t lines, uint64_t words,
		      struct kf_buf *out)
{
	for (uint64_t i = 0; i < lines; i++)
		kf_buf_printf(out, "w%llu\n", (unsigned long long)
			      kf_rng_below(rng, words));
}

static void test_a_diff_applied_to_the_old_gives_the_new(void **state)
{
	struct kf_rng rng = { .state = 11 };

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct kf_buf old = { .max = OUT_BYTES }, new = old;
		uint64_t words = 1 + (uint64_t)round % 9;
		char *text, *patched;

		make_text(&rng, kf_rng_below(&rng, 40), words, &old);
		make_text(&rng, kf_rng_below(&rng, 40), words, &new);
		text = diff(kf_buf_str(&old), kf_buf_str(&new));
		patched = patch(kf_buf_str(&old), text);
		assert_string_equal(patched, kf_buf_str(&new));
		free(patched);
		free(text);
		kf_buf_release(&old);
		kf_buf_release(&new);
	}
}

static void test_texts_with_nothing_in_common_end_soon(void **state)
{
	struct kf_buf old = { .max = OUT_BYTES }, new = old;
	struct kf_rng rng = { .state = 5 };
	char *text, *patched;

	(void)state;
	make_text(&rng, 40000, 1000000007, &old);
	make_text(&rng, 40000, 1000000007, &new);
	text = diff(kf_buf_str(&old), kf_buf_str(&new));
	patched = patch(kf_buf_str(&old), text);
	assert_string_equal(patched, kf_buf_str(&new));
	free(patched);
	free(text);
	kf_buf_release(&old);
	kf_buf_release(&new);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small_differences_are_as_diff_has_them),
		cmocka_unit_test(test_a_diff_applied_to_the_old_gives_the_new),
		cmocka_unit_test(test_texts_with_nothing_in_common_end_soon),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
