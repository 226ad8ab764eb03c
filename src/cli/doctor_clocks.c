/*
 * What makes times unreliable, as far as /proc and /sys tell. All of it is a
 * note: kforge compares programs in turn, so that ratios survive what times do
 * not.
 */
#include <glob.h>
#include <math.h>
#include <sched.h>
#include <unistd.h>

#include "cli/doctor.h"

#define CPU "/sys/devices/system/cpu/"
#define WHAT "clocks"
#define TEXT_MAX (64u << 10)

static bool read_number(const struct kf_doctor *d, const char *path,
			int64_t *out)
{
	struct kf_buf text = { .max = 64 };
	bool good = kf_doctor_read(d, path, &text) &&
		kf_parse_i64(kf_buf_str(&text), out);

	kf_buf_release(&text);
	return good;
}

static void check_governor(struct kf_doctor *d)
{
	struct kf_buf governor = { .max = 64 };

	if (!kf_doctor_read(d, CPU "cpu0/cpufreq/scaling_governor", &governor))
		kf_doctor_find(d, KF_FINDING_NOTE, WHAT, "the processor's "
			"frequency cannot be read here (a virtual machine?): "
			"trust ratios, not times");
	else if (strcmp(kf_buf_str(&governor), "performance") == 0)
		kf_doctor_find(d, KF_FINDING_GOOD, WHAT,
			       "governor performance");
	else
		kf_doctor_find(d, KF_FINDING_NOTE, WHAT, "governor %s: for "
			"steadier times, `cpupower frequency-set -g "
			"performance`", kf_buf_str(&governor));
	kf_buf_release(&governor);
}

static void check_boost(struct kf_doctor *d)
{
	int64_t boost, no_turbo;

	if (read_number(d, CPU "cpufreq/boost", &boost) && boost)
		kf_doctor_find(d, KF_FINDING_NOTE, WHAT, "boost is on: clocks "
			"depend on heat and neighbours; for steadier times, "
			"write 0 to " CPU "cpufreq/boost");
	if (read_number(d, CPU "intel_pstate/no_turbo", &no_turbo) &&
	    !no_turbo)
		kf_doctor_find(d, KF_FINDING_NOTE, WHAT, "turbo is on: clocks "
			"depend on heat and neighbours; for steadier times, "
			"write 1 to " CPU "intel_pstate/no_turbo");
}

static void check_threads(struct kf_doctor *d)
{
	int64_t active;

	if (read_number(d, CPU "smt/active", &active) && active)
		kf_doctor_find(d, KF_FINDING_NOTE, WHAT, "cores run two "
			"threads each (SMT): for steadier times, give "
			"--threads the number of cores");
}

/* Processors that are in the machine and those that we may use. */
static void check_affinity(struct kf_doctor *d, int *count)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t set;

	*count = online > 0 ? (int)online : 1;
	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof(set), &set) ||
	    CPU_COUNT(&set) >= online)
		return;
	*count = CPU_COUNT(&set);
	kf_doctor_find(d, KF_FINDING_NOTE, WHAT, "only %d of %ld processors "
		       "may be used (taskset, or a container's cpuset)", *count,
		       online);
}

static void check_load(struct kf_doctor *d, int count)
{
	struct kf_buf text = { .max = 128 };
	double load;

	if (kf_doctor_read(d, "/proc/loadavg", &text)) {
		text.data[strcspn(text.data, " ")] = '\0';
		if (kf_parse_double(text.data, &load) && load > 0.5 &&
		    load > 0.1 * count)
			kf_doctor_find(d, KF_FINDING_NOTE, WHAT, "load average "
				"%.2g on %d processors: something else runs "
				"here and disturbs times", load, count);
	}
	kf_buf_release(&text);
}

/* "QUOTA PERIOD" of a version 2 group; "max" is no quota. */
static bool quota_of(const char *text, double *processors)
{
	const char *space = strchr(text, ' ');
	char *first = space ? kf_strndup(text, (size_t)(space - text)) : NULL;
	double quota, period;
	bool limited = first && kf_parse_double(first, &quota) &&
		kf_parse_double(space + 1, &period) && period > 0;

	if (limited)
		*processors = quota / period;
	free(first);
	return limited;
}

/* The narrowest quota of our own group and those above it; infinite if there
 * is none. */
static double find_quota(const struct kf_doctor *d)
{
	struct kf_buf groups = { .max = TEXT_MAX }, text = { .max = 128 };
	double least = INFINITY, processors;
	char *own = NULL, *slash;
	int64_t quota_us, period_us;

	if (kf_doctor_read(d, "/proc/self/cgroup", &groups)) {
		const char *line = strstr(kf_buf_str(&groups), "0::/");

		if (line)
			own = kf_strndup(line + 3, strcspn(line + 3, "\n"));
	}
	while (own) {
		char *path = kf_format("/sys/fs/cgroup%s/cpu.max", own);

		if (kf_doctor_read(d, path, &text) &&
		    quota_of(kf_buf_str(&text), &processors) &&
		    processors < least)
			least = processors;
		free(path);
		slash = strrchr(own, '/');
		if (!slash)
			break;
		*slash = '\0';
	}
	if (read_number(d, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", &quota_us) &&
	    read_number(d, "/sys/fs/cgroup/cpu/cpu.cfs_period_us",
			&period_us) && quota_us > 0 && period_us > 0 &&
	    (double)quota_us / (double)period_us < least)
		least = (double)quota_us / (double)period_us;
	free(own);
	kf_buf_release(&text);
	kf_buf_release(&groups);
	return least;
}

static void check_quota(struct kf_doctor *d, int count)
{
	double processors = find_quota(d);

	if (processors < count)
		kf_doctor_find(d, KF_FINDING_NOTE, WHAT, "a control group "
			"allows %.3g of %d processors and stops programs in "
			"between: start the container without a quota (docker "
			"run --cpuset-cpus instead of --cpus), or give "
			"--threads %d", processors, count,
			processors < 1 ? 1 : (int)processors);
}

static void check_source(struct kf_doctor *d)
{
	static const char *const good[] = {
		"tsc", "kvm-clock", "hyperv_clocksource_tsc_page",
		"arch_sys_counter",
	};
	struct kf_buf text = { .max = 64 };

	if (kf_doctor_read(d, "/sys/devices/system/clocksource/clocksource0/"
			   "current_clocksource", &text)) {
		bool fast = false;

		for (size_t i = 0; i < KF_COUNT(good); i++)
			fast |= strcmp(kf_buf_str(&text), good[i]) == 0;
		if (!fast)
			kf_doctor_find(d, KF_FINDING_NOTE, WHAT, "the clock is "
				"%s, which is slow to read: short programs "
				"look longer (boot with clocksource=tsc if the "
				"machine allows it)", kf_buf_str(&text));
	}
	kf_buf_release(&text);
}

/* "cpu user nice system idle iowait irq softirq steal ..." since the start. */
static void check_steal(struct kf_doctor *d)
{
	struct kf_buf text = { .max = TEXT_MAX };
	unsigned long long t[8] = { 0 };
	double sum = 0;

	if (kf_doctor_read(d, "/proc/stat", &text) &&
	    sscanf(kf_buf_str(&text), "cpu %llu %llu %llu %llu %llu %llu %llu "
		   "%llu", &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6],
		   &t[7]) == 8) {
		for (size_t i = 0; i < KF_COUNT(t); i++)
			sum += (double)t[i];
		if ((double)t[7] > 0.005 * sum)
			kf_doctor_find(d, KF_FINDING_NOTE, WHAT, "the host "
				"took %.1f %% of this virtual machine's time: "
				"trust ratios, not times",
				100 * (double)t[7] / sum);
	}
	kf_buf_release(&text);
}

static void check_power(struct kf_doctor *d)
{
	char *pattern = kf_format("%s/sys/class/power_supply/*/online",
				  d->root);
	size_t skip = strlen(d->root);
	glob_t found = { 0 };
	bool any = false, on = false;

	if (glob(pattern, 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++) {
			int64_t online;

			if (read_number(d, found.gl_pathv[i] + skip,
					&online)) {
				any = true;
				on |= online != 0;
			}
		}
	if (any && !on)
		kf_doctor_find(d, KF_FINDING_NOTE, WHAT, "the machine runs on "
			       "battery and saves power: plug it in");
	globfree(&found);
	free(pattern);
}

static void check_core_pattern(struct kf_doctor *d)
{
	struct kf_buf text = { .max = 256 };

	if (kf_doctor_read(d, "/proc/sys/kernel/core_pattern", &text) &&
	    text.data[0] == '|')
		kf_doctor_find(d, KF_FINDING_NOTE, "crashes", "each crash of a "
			"candidate may start a handler of the system (%.*s), "
			"which takes time: `sysctl kernel.core_pattern=core` "
			"turns it off", (int)strcspn(text.data + 1, " "),
			text.data + 1);
	kf_buf_release(&text);
}

void kf_doctor_clocks(struct kf_doctor *d)
{
	int count;

	check_governor(d);
	check_boost(d);
	check_threads(d);
	check_affinity(d, &count);
	check_quota(d, count);
	check_load(d, count);
	check_source(d);
	check_steal(d);
	check_power(d);
	check_core_pattern(d);
}
