#include "profile/metric.h"

#include <math.h>

/* Percentages are of what the device can do at best. Counts, bytes and times
 * are of one call; of a kernel, of all its launches in one call. */
static const struct kf_metric_about rows[] = {
	/* times */
	{ "time", "ns", "time" },
	{ "launches", "count", "launches" },
	{ "launch_gap", "ns", "time between launches in which the device does nothing" },
	{ "cpu_time", "ns", "processor time of all threads together" },
	{ "cpus_used", "ratio", "processors that were busy, on average" },
	{ "threads", "count", "threads that worked" },
	{ "thread_imbalance", "ratio", "processor time of the busiest thread by that of the average one" },
	{ "runqueue_wait", "ns", "time that threads were ready and had no processor" },
	/* the processor */
	{ "instructions", "count", "instructions" },
	{ "cycles", "count", "clock cycles" },
	{ "instructions_per_cycle", "ratio", "instructions a cycle" },
	{ "stalled_cycles", "count", "cycles that waited for memory or results" },
	{ "cache_references", "count", "accesses that reached the last-level cache" },
	{ "cache_misses", "count", "accesses that missed the last-level cache" },
	{ "l1_loads", "count", "loads" },
	{ "l1_misses", "count", "loads that missed the first cache" },
	{ "llc_loads", "count", "loads that reached the last-level cache" },
	{ "llc_misses", "count", "loads that missed the last-level cache" },
	{ "tlb_misses", "count", "loads whose page was not in the TLB" },
	{ "branches", "count", "branches" },
	{ "branch_misses", "count", "branches predicted wrongly" },
	{ "page_faults", "count", "page faults" },
	{ "context_switches", "count", "context switches" },
	{ "migrations", "count", "moves to another processor" },
	{ "data_reads", "count", "memory reads, simulated" },
	{ "data_writes", "count", "memory writes, simulated" },
	{ "l1_read_misses_simulated", "count", "reads that missed a simulated first cache" },
	{ "l1_write_misses_simulated", "count", "writes that missed a simulated first cache" },
	{ "llc_read_misses_simulated", "count", "reads that missed a simulated last-level cache" },
	{ "llc_write_misses_simulated", "count", "writes that missed a simulated last-level cache" },
	/* a GPU's ceilings */
	{ "dram_throughput", "%", "of the memory's bandwidth" },
	{ "l2_throughput", "%", "of the L2 cache's throughput" },
	{ "l1_throughput", "%", "of the L1 cache's throughput" },
	{ "compute_throughput", "%", "of the units' throughput, the busiest pipe" },
	{ "fma_pipe", "%", "of the multiply-add pipe" },
	{ "tensor_pipe", "%", "of the matrix units" },
	{ "issue_active", "%", "of cycles with an instruction issued" },
	/* its memory */
	{ "dram_bytes_read", "byte", "read from memory" },
	{ "dram_bytes_written", "byte", "written to memory" },
	{ "l1_hit_rate", "%", "of accesses found in L1" },
	{ "l2_hit_rate", "%", "of accesses found in L2" },
	{ "sectors_per_load", "ratio", "32-byte sectors a load of a warp touches; 4 is one float a thread in order" },
	{ "sectors_per_store", "ratio", "32-byte sectors a store of a warp touches" },
	{ "bank_conflicts", "count", "extra passes over shared memory for bank conflicts" },
	{ "shared_passes", "count", "passes over shared memory in all" },
	{ "spill_loads", "count", "loads of spilled registers" },
	/* its occupancy */
	{ "occupancy", "%", "of the threads that a unit can hold, achieved" },
	{ "occupancy_possible", "%", "of the threads that a unit can hold, as registers, shared memory and group size allow" },
	{ "waves", "ratio", "times that all units are filled with groups" },
	{ "groups", "count", "groups of a launch" },
	{ "group_size", "count", "threads of a group" },
	{ "warps_eligible", "ratio", "warps ready to issue, on average, of each scheduler" },
	/* why warps wait, in warps that do so a cycle issued */
	{ "stall_memory", "ratio", "waits for memory (long scoreboard), in cycles an instruction" },
	{ "stall_shared", "ratio", "waits for shared memory (short scoreboard, MIO), in cycles an instruction" },
	{ "stall_barrier", "ratio", "waits at barriers, in cycles an instruction" },
	{ "stall_pipe", "ratio", "waits for a busy pipe, in cycles an instruction" },
	{ "stall_throttle", "ratio", "waits for a full memory queue (LG throttle), in cycles an instruction" },
	/* static */
	{ "registers", "count", "registers of a thread" },
	{ "shared_bytes", "byte", "shared memory of a group" },
	{ "spill_bytes", "byte", "of a thread's registers are spilled to memory" },
	{ "local_bytes", "byte", "of a thread's variables lie in memory: spills, and arrays whose indices the compiler does not know" },
	{ "stack_bytes", "byte", "stack of a thread" },
	{ "flops", "count", "floating-point operations" },
};

const struct kf_metric_about *kf_metric_row(size_t i)
{
	return i < KF_COUNT(rows) ? &rows[i] : NULL;
}

const struct kf_metric_about *kf_metric_about(const char *name)
{
	for (size_t i = 0; i < KF_COUNT(rows); i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

static struct kf_metric *find(const struct kf_metrics *metrics,
			      const char *kernel, const char *name)
{
	for (size_t i = 0; i < metrics->count; i++)
		if (strcmp(metrics->metric[i].name, name) == 0 &&
		    strcmp(metrics->metric[i].kernel, kernel) == 0)
			return &metrics->metric[i];
	return NULL;
}

const struct kf_metric *kf_metrics_find(const struct kf_metrics *metrics,
					const char *kernel, const char *name)
{
	return find(metrics, kernel ? kernel : "", name);
}

double kf_metrics_value(const struct kf_metrics *metrics, const char *kernel,
			const char *name)
{
	const struct kf_metric *metric = kf_metrics_find(metrics, kernel, name);

	return metric ? metric->value : (double)NAN;
}

bool kf_metrics_add(struct kf_metrics *metrics, const char *kernel,
		    const char *name, double value, const char *unit)
{
	struct kf_metric *metric;

	kernel = kernel ? kernel : "";
	if (!isfinite(value))
		return false;
	metric = find(metrics, kernel, name);
	if (!metric && metrics->count == KF_METRICS_MAX)
		return false;
	if (!metric) {
		metrics->metric = kf_realloc(metrics->metric,
					     (metrics->count + 1) *
					     sizeof(metrics->metric[0]));
		metric = &metrics->metric[metrics->count++];
		*metric = (struct kf_metric) {
			.kernel = kf_strdup(kernel), .name = kf_strdup(name),
		};
	}
	metric->value = value;
	free(metric->unit);
	metric->unit = kf_strdup(unit ? unit : "");
	return true;
}

void kf_metrics_release(struct kf_metrics *metrics)
{
	for (size_t i = 0; i < metrics->count; i++) {
		free(metrics->metric[i].kernel);
		free(metrics->metric[i].name);
		free(metrics->metric[i].unit);
	}
	free(metrics->metric);
	*metrics = (struct kf_metrics) { 0 };
}

/* --- units ---------------------------------------------------------------- */

struct unit { const char *text, *shared; double factor; };

/* As tools write them; longer ones are made of these by prefixes. */
static const struct unit units[] = {
	{ "s", "ns", 1e9 }, { "sec", "ns", 1e9 }, { "second", "ns", 1e9 },
	{ "seconds", "ns", 1e9 },
	{ "ms", "ns", 1e6 }, { "msec", "ns", 1e6 }, { "msecond", "ns", 1e6 },
	{ "us", "ns", 1e3 }, { "usec", "ns", 1e3 }, { "usecond", "ns", 1e3 },
	{ "\xc2\xb5s", "ns", 1e3 }, { "\xce\xbcs", "ns", 1e3 },
	{ "ns", "ns", 1 }, { "nsec", "ns", 1 }, { "nsecond", "ns", 1 },
	{ "%", "%", 1 }, { "percent", "%", 1 },
	{ "count", "count", 1 }, { "inst", "count", 1 },
	{ "cycle", "count", 1 }, { "cycles", "count", 1 },
	{ "sector", "count", 1 }, { "block", "count", 1 },
	{ "thread", "count", 1 }, { "warp", "count", 1 },
	{ "request", "count", 1 }, { "register/thread", "count", 1 },
	{ "warp/cycle", "ratio", 1 }, { "inst/cycle", "ratio", 1 },
	{ "sector/request", "ratio", 1 }, { "ratio", "ratio", 1 },
	{ "cpus utilized", "ratio", 1 },
	{ "byte/block", "byte", 1 }, { "byte/thread", "byte", 1 },
	{ "Kbyte/block", "byte", 1e3 },
};

/* Nsight's prefixes are decimal; KiB and the like say themselves. */
static const struct { const char *text; double factor; } prefixes[] = {
	{ "Ki", 1024.0 }, { "Mi", 1048576.0 }, { "Gi", 1073741824.0 },
	{ "Ti", 1099511627776.0 },
	{ "K", 1e3 }, { "k", 1e3 }, { "M", 1e6 }, { "G", 1e9 }, { "T", 1e12 },
	{ "", 1 },
};

static const struct { const char *text, *shared; double factor; } sizes[] = {
	{ "byte", "byte", 1 }, { "bytes", "byte", 1 }, { "B", "byte", 1 },
	{ "byte/second", "byte/s", 1 }, { "byte/s", "byte/s", 1 },
	{ "B/s", "byte/s", 1 }, { "byte/nsecond", "byte/s", 1e9 },
	{ "byte/usecond", "byte/s", 1e6 }, { "inst", "count", 1 },
	{ "cycle", "count", 1 }, { "flop", "count", 1 },
};

static const char *size_unit(const char *text, double *value)
{
	for (size_t i = 0; i < KF_COUNT(prefixes); i++) {
		size_t len = strlen(prefixes[i].text);

		if (strncmp(text, prefixes[i].text, len) != 0)
			continue;
		for (size_t k = 0; k < KF_COUNT(sizes); k++)
			if (strcmp(text + len, sizes[k].text) == 0) {
				*value *= prefixes[i].factor *
					sizes[k].factor;
				return sizes[k].shared;
			}
	}
	return NULL;
}

const char *kf_metric_unit(const char *text, double *value)
{
	const char *shared;

	for (size_t i = 0; i < KF_COUNT(units); i++)
		if (strcmp(text, units[i].text) == 0) {
			*value *= units[i].factor;
			return units[i].shared;
		}
	shared = size_unit(text, value);
	return shared ? shared : text;
}
