/*
 * Nsight Compute's CSV. Two forms: the raw page has a column for each metric
 * and a line with their units under the header; the other has a line for each
 * metric of each launch, with "Metric Name", "Metric Unit" and "Metric Value".
 * Before the header stands what the tool and the program said.
 */
#include "profile/ncu.h"

#include <math.h>

#include "profile/csv.h"

const struct kf_ncu_metric kf_ncu_metrics[] = {
	{ "gpu__time_duration.sum", "time", KF_NCU_SUM, true },
	{ "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "dram_throughput", KF_NCU_MEAN, true },
	{ "dram__throughput.avg.pct_of_peak_sustained_elapsed", "dram_throughput", KF_NCU_MEAN, false },
	{ "lts__throughput.avg.pct_of_peak_sustained_elapsed", "l2_throughput", KF_NCU_MEAN, true },
	{ "l1tex__throughput.avg.pct_of_peak_sustained_active", "l1_throughput", KF_NCU_MEAN, true },
	{ "l1tex__throughput.avg.pct_of_peak_sustained_elapsed", "l1_throughput", KF_NCU_MEAN, false },
	{ "sm__throughput.avg.pct_of_peak_sustained_elapsed", "compute_throughput", KF_NCU_MEAN, true },
	{ "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active", "fma_pipe", KF_NCU_MEAN, true },
	{ "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active", "fma_pipe", KF_NCU_MEAN, false },
	{ "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active", "tensor_pipe", KF_NCU_MEAN, true },
	{ "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", "tensor_pipe", KF_NCU_MEAN, false },
	{ "smsp__issue_active.avg.pct_of_peak_sustained_active", "issue_active", KF_NCU_MEAN, true },
	{ "dram__bytes_read.sum", "dram_bytes_read", KF_NCU_SUM, true },
	{ "dram__bytes_op_read.sum", "dram_bytes_read", KF_NCU_SUM, false },
	{ "dram__bytes_write.sum", "dram_bytes_written", KF_NCU_SUM, true },
	{ "dram__bytes_op_write.sum", "dram_bytes_written", KF_NCU_SUM, false },
	{ "l1tex__t_sector_hit_rate.pct", "l1_hit_rate", KF_NCU_MEAN, true },
	{ "lts__t_sector_hit_rate.pct", "l2_hit_rate", KF_NCU_MEAN, true },
	{ "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio", "sectors_per_load", KF_NCU_MEAN, true },
	{ "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio", "sectors_per_store", KF_NCU_MEAN, true },
	{ "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "bank_conflicts", KF_NCU_SUM, true },
	{ "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", "shared_passes", KF_NCU_SUM, true },
	{ "smsp__inst_executed_op_local_ld.sum", "spill_loads", KF_NCU_SUM, false },
	{ "smsp__sass_inst_executed_op_local_ld.sum", "spill_loads", KF_NCU_SUM, false },
	{ "sm__warps_active.avg.pct_of_peak_sustained_active", "occupancy", KF_NCU_MEAN, true },
	{ "sm__maximum_warps_per_active_cycle_pct", "occupancy_possible", KF_NCU_MEAN, true },
	{ "smsp__warps_eligible.avg.per_cycle_active", "warps_eligible", KF_NCU_MEAN, true },
	{ "launch__waves_per_multiprocessor", "waves", KF_NCU_MOST, true },
	{ "launch__grid_size", "groups", KF_NCU_MOST, false },
	{ "launch__block_size", "group_size", KF_NCU_MOST, false },
	{ "launch__registers_per_thread", "registers", KF_NCU_MOST, true },
	{ "launch__shared_mem_per_block", "shared_bytes", KF_NCU_MOST, false },
	{ "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio", "stall_memory", KF_NCU_MEAN, true },
	{ "smsp__average_warp_latency_issue_stalled_long_scoreboard.ratio", "stall_memory", KF_NCU_MEAN, false },
	{ "smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio", "stall_shared", KF_NCU_MEAN, true },
	{ "smsp__average_warp_latency_issue_stalled_short_scoreboard.ratio", "stall_shared", KF_NCU_MEAN, false },
	{ "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio", "stall_barrier", KF_NCU_MEAN, true },
	{ "smsp__average_warp_latency_issue_stalled_barrier.ratio", "stall_barrier", KF_NCU_MEAN, false },
	{ "smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio", "stall_pipe", KF_NCU_MEAN, true },
	{ "smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio", "stall_throttle", KF_NCU_MEAN, true },
};
const size_t kf_ncu_metric_count = KF_COUNT(kf_ncu_metrics);

/* One metric of one kernel, over its launches. */
struct sum {
	size_t metric;			/* in kf_ncu_metrics */
	double value, weight;
};

struct kernel {
	char *name;			/* owned */
	unsigned launches;
	double time_ns;			/* 0: not known */
	struct sum *sum;		/* owned */
	size_t sum_count;
};

/* A launch that is being read: its metrics, until its time is known. */
struct launch {
	char id[32];
	char *name;			/* owned; NULL: none */
	double value[KF_COUNT(kf_ncu_metrics)];	/* NaN: not measured */
};

struct reading {
	struct kernel *kernel;
	size_t kernel_count;
	struct launch launch;
	struct kf_csv header, units;
	bool asked[KF_COUNT(kf_ncu_metrics)];	/* the tool names it */
	size_t rows;
};

/* --- sums ----------------------------------------------------------------- */

/* "void axpb<float>(const float *, int)" is axpb. Caller frees. */
static char *short_name(const char *name)
{
	size_t len = strcspn(name, "(<");
	size_t from = len;

	while (from && name[from - 1] != ' ')
		from--;
	return len > from ? kf_strndup(name + from, len - from) :
		kf_strdup(name);
}

static struct kernel *kernel_of(struct reading *r, const char *name)
{
	struct kernel *kernel;

	for (size_t i = 0; i < r->kernel_count; i++)
		if (strcmp(r->kernel[i].name, name) == 0)
			return &r->kernel[i];
	if (r->kernel_count == KF_PROFILE_KERNELS_MAX)
		return NULL;
	r->kernel = kf_realloc(r->kernel, (r->kernel_count + 1) *
			       sizeof(r->kernel[0]));
	kernel = &r->kernel[r->kernel_count++];
	*kernel = (struct kernel) { .name = kf_strdup(name) };
	return kernel;
}

static struct sum *sum_of(struct kernel *kernel, size_t metric)
{
	for (size_t i = 0; i < kernel->sum_count; i++)
		if (kernel->sum[i].metric == metric)
			return &kernel->sum[i];
	kernel->sum = kf_realloc(kernel->sum, (kernel->sum_count + 1) *
				 sizeof(kernel->sum[0]));
	kernel->sum[kernel->sum_count] = (struct sum) { .metric = metric };
	return &kernel->sum[kernel->sum_count++];
}

static void add(struct sum *sum, enum kf_ncu_sum how, double value,
		double weight)
{
	switch (how) {
	case KF_NCU_SUM:
		sum->value += value;
		sum->weight = 1;
		break;
	case KF_NCU_MEAN:
		sum->value += value * weight;
		sum->weight += weight;
		break;
	case KF_NCU_MOST:
		sum->value = value > sum->value ? value : sum->value;
		sum->weight = 1;
		break;
	}
}

static void launch_empty(struct launch *launch)
{
	free(launch->name);
	launch->name = NULL;
	launch->id[0] = '\0';
	for (size_t i = 0; i < KF_COUNT(launch->value); i++)
		launch->value[i] = (double)NAN;
}

/* A launch is whole: percentages count by the time that it took. */
static void launch_take(struct reading *r)
{
	struct launch *launch = &r->launch;
	struct kernel *kernel = launch->name ? kernel_of(r, launch->name) :
		NULL;
	double time_ns = launch->value[0];

	for (size_t i = 0; kernel && i < KF_COUNT(launch->value); i++)
		if (!isnan(launch->value[i]))
			add(sum_of(kernel, i), kf_ncu_metrics[i].how,
			    launch->value[i], time_ns > 0 ? time_ns : 1);
	if (kernel) {
		kernel->launches++;
		kernel->time_ns += time_ns > 0 ? time_ns : 0;
	}
	launch_empty(launch);
}

/* --- lines ---------------------------------------------------------------- */

static size_t metric_of(const char *name)
{
	for (size_t i = 0; i < kf_ncu_metric_count; i++)
		if (strcmp(kf_ncu_metrics[i].tool, name) == 0)
			return i;
	return kf_ncu_metric_count;
}

static void take_value(struct reading *r, const char *tool, const char *unit,
		       const char *field)
{
	size_t metric = metric_of(tool);
	double value;

	if (metric == kf_ncu_metric_count)
		return;
	r->asked[metric] = true;
	if (!kf_csv_number(field, &value))
		return;
	(void)kf_metric_unit(unit, &value);
	r->launch.value[metric] = value;
}

static void begin_launch(struct reading *r, const char *id, const char *name)
{
	if (strcmp(r->launch.id, id) == 0 && r->launch.name)
		return;
	launch_take(r);
	snprintf(r->launch.id, sizeof(r->launch.id), "%.31s", id);
	r->launch.name = short_name(name);
	r->rows++;
}

static void take_row(struct reading *r, const struct kf_csv *line)
{
	const struct kf_csv *h = &r->header;
	const char *id = kf_csv_field(line, kf_csv_column(h, "ID"));
	const char *name = kf_csv_field(line, kf_csv_column(h, "Kernel Name"));
	size_t metric = kf_csv_column(h, "Metric Name");
	double number;

	if (!name[0] || !kf_csv_number(id, &number))
		return;
	begin_launch(r, id, name);
	if (metric < KF_CSV_FIELDS) {
		take_value(r, kf_csv_field(line, metric),
			   kf_csv_field(line, kf_csv_column(h, "Metric Unit")),
			   kf_csv_field(line,
					kf_csv_column(h, "Metric Value")));
		return;
	}
	for (size_t i = 0; i < h->count; i++)
		take_value(r, h->field[i], kf_csv_field(&r->units, i),
			   kf_csv_field(line, i));
	r->launch.id[0] = '\0';		/* a line, a launch */
	launch_take(r);
}

static void swap(struct kf_csv *a, struct kf_csv *b)
{
	struct kf_csv c = *a;

	*a = *b;
	*b = c;
}

/* The raw page's second line has units, and no ID. */
static bool is_units(const struct reading *r, const struct kf_csv *line)
{
	size_t id = kf_csv_column(&r->header, "ID");

	return !r->units.count && line->count > 1 &&
		!kf_csv_field(line, id)[0] &&
		kf_csv_column(&r->header, "Metric Name") == KF_CSV_FIELDS;
}

static void take_line(struct reading *r, struct kf_csv *line)
{
	if (line->count > 1 && strcmp(line->field[0], "ID") == 0) {
		launch_take(r);
		swap(&r->header, line);
		kf_csv_release(&r->units);
	} else if (r->header.count && is_units(r, line)) {
		swap(&r->units, line);
	} else if (r->header.count) {
		take_row(r, line);
	}
}

/* --- what it comes to ----------------------------------------------------- */

static double value_of(const struct sum *sum, double calls)
{
	if (kf_ncu_metrics[sum->metric].how == KF_NCU_SUM)
		return sum->value / calls;
	return sum->weight > 0 ? sum->value / sum->weight : (double)NAN;
}

static void tell_sum(struct kf_profile *out, const char *kernel,
		     const struct sum *sum, double calls)
{
	const char *name = kf_ncu_metrics[sum->metric].name;

	kf_metrics_add(&out->metrics, kernel, name, value_of(sum, calls),
		       kf_metric_about(name)->unit);
}

static void tell_kernel(const struct kernel *kernel, struct kernel *whole,
			struct kf_profile *out)
{
	double calls = out->call_count ? out->call_count : 1;
	struct kf_profile_kernel *k = kf_profile_add_kernel(out, kernel->name);

	k->launches = (unsigned)((double)kernel->launches / calls + 0.5);
	if (kernel->time_ns > 0)
		k->time_ns = kernel->time_ns / calls;
	for (size_t i = 0; i < kernel->sum_count; i++) {
		const struct sum *sum = &kernel->sum[i];
		enum kf_ncu_sum how = kf_ncu_metrics[sum->metric].how;

		tell_sum(out, kernel->name, sum, calls);
		if (how != KF_NCU_MOST)	/* of a kernel, not of a program */
			add(sum_of(whole, sum->metric), how, how == KF_NCU_SUM
			    ? sum->value : sum->value / sum->weight,
			    sum->weight);
	}
}

static void tell_missing(const struct reading *r, struct kf_profile *out)
{
	for (size_t i = 0; i < kf_ncu_metric_count; i++) {
		const char *name = kf_ncu_metrics[i].name;
		bool found = false;

		for (size_t k = 0; k < out->metrics.count && !found; k++)
			found = strcmp(out->metrics.metric[k].name, name) == 0;
		if (kf_ncu_metrics[i].chosen && !found)
			kf_profile_add_missing(out, name, r->asked[i] ?
				"ncu: the device gave no value" :
				"ncu: this version or device has no such "
				"metric");
	}
}

static void conclude(struct reading *r, struct kf_profile *out)
{
	double calls = out->call_count ? out->call_count : 1;
	struct kernel whole = { .name = NULL };

	for (size_t i = 0; i < r->kernel_count; i++) {
		tell_kernel(&r->kernel[i], &whole, out);
		whole.launches += r->kernel[i].launches;
	}
	for (size_t i = 0; i < whole.sum_count; i++)
		tell_sum(out, NULL, &whole.sum[i], calls);
	kf_metrics_add(&out->metrics, NULL, "launches", whole.launches / calls,
		       "count");
	kf_profile_share_times(out);
	tell_missing(r, out);
	free(whole.sum);
	out->end = out->missing_count ? KF_PROFILE_PARTIAL : KF_PROFILE_GOOD;
}

static enum kf_profile_end end_without_rows(const struct reading *r,
					    const struct kf_profile_bytes *b)
{
	if (kf_read_denied(b->text, b->len) ||
	    kf_read_denied(b->said, strlen(b->said)))
		return KF_PROFILE_DENIED;
	if (r->header.count || !b->len ||
	    memmem(b->text, b->len, "No kernels were profiled", 24) ||
	    strstr(b->said, "No kernels were profiled"))
		return KF_PROFILE_EMPTY;
	return KF_PROFILE_FORMAT;
}

void kf_read_ncu(const struct kf_profile_bytes *bytes, struct kf_profile *out)
{
	struct reading *r = kf_alloc(sizeof(*r));
	struct kf_csv line = { 0 };
	size_t at = 0;

	launch_empty(&r->launch);
	while (kf_csv_next(&line, bytes->text, bytes->len, &at, ','))
		take_line(r, &line);
	launch_take(r);
	if (r->kernel_count)
		conclude(r, out);
	else
		out->end = end_without_rows(r, bytes);
	kf_csv_release(&line);
	kf_csv_release(&r->header);
	kf_csv_release(&r->units);
	launch_empty(&r->launch);
	for (size_t i = 0; i < r->kernel_count; i++) {
		free(r->kernel[i].name);
		free(r->kernel[i].sum);
	}
	free(r->kernel);
	free(r);
}
