/* Smaller sizes for problems that are too large. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "problem/shrink.h"

static void say(const struct kf_shrink *shrink, char out[200])
{
	struct kf_buf text = { .max = 199 };

	kf_shrink_say(shrink, &text);
	snprintf(out, 200, "%s", kf_buf_str(&text));
	kf_buf_release(&text);
}

static void test_the_batch_goes_first(void **state)
{
	struct kf_shrink shrink;
	char words[200], **set;
	size_t count;

	(void)state;
	kf_shrink_read("batch_size = 128\nin_channels = 64\ndim = 4096\n"
		       "def f():\n    N = 5\n", &shrink);
	assert_int_equal(shrink.count, 2);
	say(&shrink, words);
	assert_string_equal(words, "");
	assert_true(kf_shrink_step(&shrink, 5));	/* three halvings */
	say(&shrink, words);
	assert_string_equal(words, "at batch_size=16, published 128");
	set = kf_shrink_sets(&shrink, &count);
	assert_int_equal(count, 1);
	assert_string_equal(set[0], "batch_size=16");
	free(set[0]);
	free(set);
	assert_true(kf_shrink_step(&shrink, 8));	/* two, then dim */
	say(&shrink, words);
	assert_string_equal(words, "at batch_size=4, published 128; dim=2048, "
			    "published 4096");
}

static void test_sides_shrink_from_the_largest_on(void **state)
{
	struct kf_shrink shrink;

	(void)state;
	kf_shrink_read("M, X = 256, 4\nK = 1024 * 128\nN = 256\n", &shrink);
	assert_int_equal(shrink.count, 3);
	assert_int_equal(shrink.size[1].published, 131072);
	for (int i = 0; i < 9; i++)
		assert_true(kf_shrink_step(&shrink, 1.5));
	assert_int_equal(shrink.size[1].now, 256);
	while (kf_shrink_step(&shrink, 3))
		;
	for (int i = 0; i < 3; i++)
		assert_int_equal(shrink.size[i].now, 16);
}

static void test_what_is_no_number_stays(void **state)
{
	static const char *const row[] = {
		"", "batch_size = n", "batch_size = 3 + 4", "batch_size = 0",
		"batch_size = (3,)", "batch_size = 4 *", "batch_size = -2",
		"batch_size = 99999999999999999999", "kernel_size = 3",
		"batch_size = N = 4",
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(row); i++) {
		struct kf_shrink shrink;

		kf_shrink_read(row[i], &shrink);
		if (shrink.count)
			print_message("# %s\n", row[i]);
		assert_int_equal(shrink.count, 0);
		assert_false(kf_shrink_step(&shrink, 2));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_batch_goes_first),
		cmocka_unit_test(test_sides_shrink_from_the_largest_on),
		cmocka_unit_test(test_what_is_no_number_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
