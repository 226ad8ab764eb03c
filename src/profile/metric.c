#include "profile/metric.h"

#include <math.h>

/* Percentages are of what the device can do at best. Counts, bytes and times
 * are of one call; of a kernel, of all its launches in one call. */
static const struct kf_metric_about rows[] = {
	/* times */
	{ "time", "ns", "time", KF_SET_TIMES },
	{ "launches", "count", "launches", KF_SET_TIMES },
	{ "launch_gap", "ns", "time between launches in which the device does nothing", KF_SET_TIMES },
	{ "cpu_time", "ns", "processor time of all threads together", KF_SET_TIMES },
	{ "cpus_used", "ratio", "processors that were busy, on average", KF_SET_TIMES },
	{ "threads", "count", "threads that worked", KF_SET_TIMES },
	{ "thread_imbalance", "ratio", "processor time of the busiest thread by that of the average one", KF_SET_TIMES },
	{ "runqueue_wait", "ns", "time that threads were ready and had no processor", KF_SET_TIMES },
	/* the processor */
	{ "instructions", "count", "instructions", KF_SET_PROCESSOR },
	{ "cycles", "count", "clock cycles", KF_SET_PROCESSOR },
	{ "instructions_per_cycle", "ratio", "instructions a cycle", KF_SET_PROCESSOR },
	{ "stalled_cycles", "count", "cycles that waited for memory or results", KF_SET_PROCESSOR },
	{ "cache_references", "count", "accesses that reached the last-level cache", KF_SET_PROCESSOR },
	{ "cache_misses", "count", "accesses that missed the last-level cache", KF_SET_PROCESSOR },
	{ "l1_loads", "count", "loads", KF_SET_PROCESSOR },
	{ "l1_misses", "count", "loads that missed the first cache", KF_SET_PROCESSOR },
	{ "llc_loads", "count", "loads that reached the last-level cache", KF_SET_PROCESSOR },
	{ "llc_misses", "count", "loads that missed the last-level cache", KF_SET_PROCESSOR },
	{ "tlb_misses", "count", "loads whose page was not in the TLB", KF_SET_PROCESSOR },
	{ "branches", "count", "branches", KF_SET_PROCESSOR },
	{ "branch_misses", "count", "branches predicted wrongly", KF_SET_PROCESSOR },
	{ "page_faults", "count", "page faults", KF_SET_PROCESSOR },
	{ "context_switches", "count", "context switches", KF_SET_PROCESSOR },
	{ "migrations", "count", "moves to another processor", KF_SET_PROCESSOR },
	{ "data_reads", "count", "memory reads, simulated", KF_SET_PROCESSOR },
	{ "data_writes", "count", "memory writes, simulated", KF_SET_PROCESSOR },
	{ "l1_read_misses_simulated", "count", "reads that missed a simulated first cache", KF_SET_PROCESSOR },
	{ "l1_write_misses_simulated", "count", "writes that missed a simulated first cache", KF_SET_PROCESSOR },
	{ "llc_read_misses_simulated", "count", "reads that missed a simulated last-level cache", KF_SET_PROCESSOR },
	{ "llc_write_misses_simulated", "count", "writes that missed a simulated last-level cache", KF_SET_PROCESSOR },
	/* a GPU's ceilings */
	{ "dram_throughput", "%", "of the memory's bandwidth", KF_SET_THROUGHPUT },
	{ "l2_throughput", "%", "of the L2 cache's throughput", KF_SET_THROUGHPUT },
	{ "l1_throughput", "%", "of the L1 cache's throughput", KF_SET_THROUGHPUT },
	{ "compute_throughput", "%", "of the units' throughput, the busiest pipe", KF_SET_THROUGHPUT },
	{ "fma_pipe", "%", "of the multiply-add pipe", KF_SET_THROUGHPUT },
	{ "tensor_pipe", "%", "of the matrix units", KF_SET_THROUGHPUT },
	{ "issue_active", "%", "of cycles with an instruction issued", KF_SET_THROUGHPUT },
	/* its memory */
	{ "dram_bytes_read", "byte", "read from memory", KF_SET_MEMORY },
	{ "dram_bytes_written", "byte", "written to memory", KF_SET_MEMORY },
	{ "copied_bytes", "byte", "copied or filled by operations that are no kernels", KF_SET_MEMORY },
	{ "l1_hit_rate", "%", "of accesses found in L1", KF_SET_MEMORY },
	{ "l2_hit_rate", "%", "of accesses found in L2", KF_SET_MEMORY },
	{ "sectors_per_load", "ratio", "32-byte sectors a load of a warp touches; 4 is one float a thread in order", KF_SET_MEMORY },
	{ "sectors_per_store", "ratio", "32-byte sectors a store of a warp touches", KF_SET_MEMORY },
	{ "bank_conflicts", "count", "extra passes over shared memory for bank conflicts", KF_SET_MEMORY },
	{ "shared_passes", "count", "passes over shared memory in all", KF_SET_MEMORY },
	{ "spill_loads", "count", "loads of spilled registers", KF_SET_MEMORY },
	/* its occupancy */
	{ "occupancy", "%", "of the threads that a unit can hold, achieved", KF_SET_OCCUPANCY },
	{ "occupancy_possible", "%", "of the threads that a unit can hold, as registers, shared memory and group size allow", KF_SET_OCCUPANCY },
	{ "waves", "ratio", "times that all units are filled with groups", KF_SET_OCCUPANCY },
	{ "groups", "count", "groups of a launch", KF_SET_OCCUPANCY },
	{ "group_size", "count", "threads of a group", KF_SET_OCCUPANCY },
	{ "warps_eligible", "ratio", "warps ready to issue, on average, of each scheduler", KF_SET_OCCUPANCY },
	/* why warps wait, in warps that do so a cycle issued */
	{ "stall_memory", "ratio", "waits for memory (long scoreboard), in cycles an instruction", KF_SET_STALLS },
	{ "stall_shared", "ratio", "waits for shared memory (short scoreboard, MIO), in cycles an instruction", KF_SET_STALLS },
	{ "stall_barrier", "ratio", "waits at barriers, in cycles an instruction", KF_SET_STALLS },
	{ "stall_pipe", "ratio", "waits for a busy pipe, in cycles an instruction", KF_SET_STALLS },
	{ "stall_throttle", "ratio", "waits for a full memory queue (LG throttle), in cycles an instruction", KF_SET_STALLS },
	/* static */
	{ "registers", "count", "registers of a thread", KF_SET_STATIC },
	{ "shared_bytes", "byte", "shared memory of a group", KF_SET_STATIC },
	{ "spill_bytes", "byte", "of a thread's registers are spilled to memory", KF_SET_STATIC },
	{ "local_bytes", "byte", "of a thread's variables lie in memory: spills, and arrays whose indices the compiler does not know", KF_SET_STATIC },
	{ "stack_bytes", "byte", "stack of a thread", KF_SET_STATIC },
	{ "flops", "count", "floating-point operations", KF_SET_STATIC },
};

static const char *const set_name[KF_METRIC_SETS] = {
	[KF_SET_TIMES] = "times",
	[KF_SET_PROCESSOR] = "processor",
	[KF_SET_THROUGHPUT] = "throughput",
	[KF_SET_MEMORY] = "memory",
	[KF_SET_OCCUPANCY] = "occupancy",
	[KF_SET_STALLS] = "stalls",
	[KF_SET_STATIC] = "static",
	[KF_SET_KERNELS] = "kernels",
	[KF_SET_OTHER] = "other",
};

const char *kf_metric_set_name(enum kf_metric_set set)
{
	return set_name[set];
}

enum kf_metric_set kf_metric_set_by_name(const char *name)
{
	unsigned set = 0;

	while (set < KF_METRIC_SETS && strcmp(set_name[set], name) != 0)
		set++;
	return (enum kf_metric_set)set;
}

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

static enum kf_metric_set set_of(const struct kf_metric *metric)
{
	const struct kf_metric_about *about = kf_metric_about(metric->name);

	if (strncmp(metric->kernel, "program.c:", 10) == 0)
		return KF_SET_KERNELS;
	return about ? about->set : KF_SET_OTHER;
}

static void release_one(struct kf_metric *metric)
{
	free(metric->kernel);
	free(metric->name);
	free(metric->unit);
}

void kf_metrics_hide(struct kf_metrics *metrics, unsigned sets)
{
	size_t kept = 0;

	for (size_t i = 0; i < metrics->count; i++) {
		struct kf_metric *metric = &metrics->metric[i];

		if (sets >> set_of(metric) & 1)
			release_one(metric);
		else
			metrics->metric[kept++] = *metric;
	}
	metrics->count = kept;
}

void kf_metrics_release(struct kf_metrics *metrics)
{
	for (size_t i = 0; i < metrics->count; i++)
		release_one(&metrics->metric[i]);
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
