/* link: src/cli/doctor_find.c src/cli/doctor_clocks.c libkforge.a */
/* link: src/cli/doctor_sandbox.c */
/* kforge doctor on machines made of a few files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/doctor.h"

#include "root.h"

#define CPU "/sys/devices/system/cpu/"
#define CLOCK "/sys/devices/system/clocksource/clocksource0/current_clocksource"

static void forget_machine(void)
{
	assert_int_equal(kf_remove_tree(root, NULL), KF_OK);
	assert_int_equal(kf_mkdir_p(root, NULL), KF_OK);
}

/* Does the doctor say this on the machine of these files? */
static bool says(void (*look)(struct kf_doctor *d), const char *words)
{
	struct kf_doctor d = { .root = root, .list = json_array() };
	bool found = false;
	const json_t *row;
	size_t i;

	look(&d);
	json_array_foreach(d.list, i, row)
		found |= strstr(kf_json_str(row, "text", ""), words) != NULL;
	assert_int_equal(d.bad_count, 0);
	json_decref(d.list);
	return found;
}

/* A machine on which one thing is wrong, and one on which it is right. */
static void test_what_disturbs_times_is_named(void **state)
{
	static const struct {
		const char *path, *wrong, *right, *words;
	} rows[] = {
		{ CPU "cpu0/cpufreq/scaling_governor", "powersave\n", "performance\n", "governor powersave: for steadier times" },
		{ CPU "cpufreq/boost", "1\n", "0\n", "boost is on" },
		{ CPU "intel_pstate/no_turbo", "0\n", "1\n", "turbo is on" },
		{ CPU "smt/active", "1\n", "0\n", "(SMT)" },
		{ "/proc/loadavg", "640.00 1 1 1/100 1\n", "0.01 1 1 1/1 1\n", "load average 6.4e+02" },
		{ CLOCK, "hpet\n", "tsc\n", "the clock is hpet" },
		{ CLOCK, "acpi_pm\n", "kvm-clock\n", "the clock is acpi_pm" },
		{ "/proc/stat", "cpu  90 0 0 0 0 0 0 10\ncpu0\n", "cpu  90 0 0 9 0 0 0 0\n", "the host took 10.0 %" },
		{ "/sys/class/power_supply/AC/online", "0\n", "1\n", "on battery" },
		{ "/proc/sys/kernel/core_pattern", "|/usr/share/apport %p\n", "core\n", "(/usr/share/apport)" },
		{ "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "10000\n", "-1\n", "a control group allows 0.1 of" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		forget_machine();
		root_put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
		assert_false(says(kf_doctor_clocks, rows[i].words));
		root_put(rows[i].path, rows[i].right);
		assert_false(says(kf_doctor_clocks, rows[i].words));
		root_put(rows[i].path, rows[i].wrong);
		if (!says(kf_doctor_clocks, rows[i].words))
			fail_msg("not said: %s", rows[i].words);
	}
}

static void test_the_quota_of_a_group_above_counts_too(void **state)
{
	(void)state;
	forget_machine();
	root_put("/proc/self/cgroup", "0::/user.slice/session\n");
	root_put("/sys/fs/cgroup/user.slice/session/cpu.max", "max 100000\n");
	assert_false(says(kf_doctor_clocks, "a control group allows"));
	root_put("/sys/fs/cgroup/user.slice/cpu.max", "50000 100000\n");
	assert_true(says(kf_doctor_clocks, "a control group allows 0.5 of"));
	root_put("/sys/fs/cgroup/user.slice/session/cpu.max", "20000 100000\n");
	assert_true(says(kf_doctor_clocks, "a control group allows 0.2 of"));
}

static void test_an_empty_machine_has_no_frequency(void **state)
{
	(void)state;
	forget_machine();
	assert_true(says(kf_doctor_clocks, "frequency cannot be read"));
}

static void test_what_refuses_namespaces_is_named(void **state)
{
	static const struct { const char *path, *text, *words; } rows[] = {
		{ "/proc/sys/kernel/unprivileged_userns_clone", "0\n", "kernel.unprivileged_userns_clone=1" },
		{ "/proc/sys/user/max_user_namespaces", "0\n", "user.max_user_namespaces" },
		{ "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n", "KFORGE_BWRAP=/usr/bin/bwrap" },
		{ "/.dockerenv", "", "docker run --security-opt seccomp=unconfined" },
		{ "/run/.containerenv", "", "podman" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		forget_machine();
		assert_false(says(kf_doctor_namespaces, rows[i].words));
		root_put(rows[i].path, rows[i].text);
		assert_true(says(kf_doctor_namespaces, rows[i].words));
	}
}

static void test_lines_fit_a_terminal(void **state)
{
	struct kf_doctor d = { .root = root, .list = json_array() };
	struct kf_buf text = { .max = 4096 };

	(void)state;
	kf_doctor_find(&d, KF_FINDING_BAD, "thing", "%s", "one two three four "
		       "five six seven eight nine ten eleven twelve thirteen "
		       "fourteen fifteen sixteen");
	kf_doctor_find(&d, KF_FINDING_GOOD, "other", "short");
	kf_doctor_print(&d, &text);
	assert_string_equal(kf_buf_str(&text),
		"bad   thing       one two three four five six seven eight nine "
		"ten eleven twelve\n"
		"                  thirteen fourteen fifteen sixteen\n"
		"good  other       short\n");
	assert_int_equal(d.bad_count, 1);
	kf_buf_release(&text);
	json_decref(d.list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_disturbs_times_is_named),
		cmocka_unit_test(test_the_quota_of_a_group_above_counts_too),
		cmocka_unit_test(test_an_empty_machine_has_no_frequency),
		cmocka_unit_test(test_what_refuses_namespaces_is_named),
		cmocka_unit_test(test_lines_fit_a_terminal),
	};

	return cmocka_run_group_tests(tests, root_make, root_remove);
}
