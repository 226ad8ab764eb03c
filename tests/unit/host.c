/* How fast the processor runs, on machines made of a few files, and what leaves
 * its caches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "platform/host/host.h"

#include "root.h"

#include <sched.h>

/* Of a processor that this process may use. */
static void put_count(const char *name, const char *text)
{
	cpu_set_t set;
	char *path;
	size_t cpu = 0;

	CPU_ZERO(&set);
	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	while (!CPU_ISSET(cpu, &set))
		cpu++;
	path = kf_format("/sys/devices/system/cpu/cpu%zu/thermal_throttle/%s",
			 cpu, name);
	root_put(path, text);
	free(path);
}

static void test_heat_is_what_was_counted_since_the_last_look(void **state)
{
	static const struct {
		const char *name, *text;
		unsigned throttle;
	} rows[] = {
		{ "core_throttle_count", "7\n", 0 },
		{ "core_throttle_count", "8\n", KF_THROTTLE_HEAT },
		{ "core_throttle_count", "8\n", 0 },
		{ "package_throttle_count", "4\n", KF_THROTTLE_HEAT },
		{ "package_throttle_count", "4\n", 0 },
		{ "package_throttle_count", "0\n", 0 },	/* it began anew */
		{ "package_throttle_count", "1\n", KF_THROTTLE_HEAT },
	};
	struct kf_clock_watch *w;

	(void)state;
	put_count("core_throttle_count", "7\n");
	assert_int_equal(kf_host_clocks_open(root, &w, NULL), KF_OK);
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_clocks now = { 0 };

		put_count(rows[i].name, rows[i].text);
		assert_int_equal(kf_host_clocks.read(w, &now, NULL), KF_OK);
		if (now.throttle != rows[i].throttle)
			fail_msg("row %zu", i);
	}
	kf_host_clocks.close(w);
}

static void test_the_rate_needs_no_files(void **state)
{
	static const char *const text[] = { NULL, "many\n", "" };

	(void)state;
	assert_int_equal(kf_remove_tree(root, NULL), KF_OK);
	for (size_t i = 0; i < KF_COUNT(text); i++) {
		struct kf_clocks now = { 0 };
		struct kf_clock_watch *w;

		if (text[i])
			put_count("core_throttle_count", text[i]);
		assert_int_equal(kf_host_clocks_open(root, &w, NULL), KF_OK);
		assert_int_equal(kf_host_clocks.read(w, &now, NULL), KF_OK);
		assert_true(now.core_mhz > 0);
		assert_int_equal(now.throttle, 0);
		kf_host_clocks.close(w);
	}
	kf_host_clocks.close(NULL);
}

static void test_what_leaves_the_caches_stays_as_it_is(void **state)
{
#if defined(KF_HOST_EVICTS)
	static unsigned char bytes[5000];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * 7);
	for (size_t from = 0; from < 130; from += 13) {
		kf_host_evict(bytes + from, 0);
		kf_host_evict(bytes + from, 1);
		kf_host_evict(bytes + from, sizeof(bytes) - from);
	}
	for (size_t i = 0; i < sizeof(bytes); i++)
		assert_int_equal(bytes[i], (unsigned char)(i * 7));
#else
	(void)state;
	skip();
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_heat_is_what_was_counted_since_the_last_look),
		cmocka_unit_test(test_the_rate_needs_no_files),
		cmocka_unit_test(test_what_leaves_the_caches_stays_as_it_is),
	};

	return cmocka_run_group_tests(tests, root_make, root_remove);
}
