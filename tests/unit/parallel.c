/* Loops on all processors: each element once, the least of what is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/parallel.h"

#define COUNT 1003

static atomic_uint seen[COUNT];
static atomic_uint short_parts;		/* none asserts in a thread of its own */

static void see(void *arg, int64_t first, int64_t end)
{
	const int64_t *part = arg;

	if (end - first != *part && end != COUNT)
		atomic_fetch_add(&short_parts, 1);
	for (int64_t i = first; i < end; i++)
		atomic_fetch_add(&seen[i], 1);
}

static void test_every_element_comes_once(void **state)
{
	static const int64_t parts[] = { 1, 7, COUNT - 1, COUNT, 5000 };
	unsigned times = 0;

	(void)state;
	for (size_t p = 0; p < KF_COUNT(parts); p++) {
		int64_t part = parts[p];

		kf_parallel_parts(0, part, see, &part);
		kf_parallel_parts(COUNT, part, see, &part);
		assert_int_equal(atomic_load(&short_parts), 0);
		times++;
		for (size_t i = 0; i < COUNT; i++)
			assert_int_equal(atomic_load(&seen[i]), times);
	}
}

/* Every element from *arg on. */
static int64_t look(void *arg, int64_t first, int64_t end)
{
	const int64_t *from = arg;

	return end <= *from ? -1 : first > *from ? first : *from;
}

static void test_the_least_is_told(void **state)
{
	(void)state;
	for (int64_t from = 0; from <= COUNT; from++)
		assert_int_equal(kf_parallel_least(COUNT, 10, look, &from),
				 from < COUNT ? from : -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_element_comes_once),
		cmocka_unit_test(test_the_least_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
