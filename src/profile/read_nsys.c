/*
 * nsys stats, as CSV. Reports have other names and columns in each version:
 * "Total Time (ns)" or "Total Time", "Instances" or "Num Calls", "Start (ns)",
 * "Duration (us)". A unit stands in the header; without one it is ns.
 */
#include "profile/read.h"

#include <math.h>

#include "profile/csv.h"

enum kind { NOTHING, KERNEL_SUM, TRACE };

struct column { size_t at; double factor; };	/* to ns */

struct reading {
	struct kf_profile *out;
	enum kind kind;
	struct column time, start, count;
	size_t name, registers;
	/* Of traces: as they come, in the order of their start. */
	struct span { double start_ns, end_ns; } *launch;	/* owned */
	size_t launches;
	bool summed, traced, header;
	bool graph;		/* whole graphs, not their kernels */
};

#define LAUNCHES_MAX 100000u

/* The column whose name is this, with or without a unit in brackets. */
static struct column find_column(const struct kf_csv *header, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < header->count; i++) {
		const char *field = header->field[i];
		double factor = 1;
		char unit[16] = "";

		if (strncmp(field, name, len) != 0)
			continue;
		if (!field[len])
			return (struct column) { i, 1 };
		if (sscanf(field + len, " (%15[^)])", unit) == 1 &&
		    strcmp(kf_metric_unit(unit, &factor), "ns") == 0)
			return (struct column) { i, factor };
	}
	return (struct column) { KF_CSV_FIELDS, 1 };
}

static struct column first_of(const struct kf_csv *header,
			      const char *const *name)
{
	struct column found = { KF_CSV_FIELDS, 1 };

	for (; *name && found.at == KF_CSV_FIELDS; name++)
		found = find_column(header, *name);
	return found;
}

static bool take_header(struct reading *r, const struct kf_csv *line)
{
	static const char *const names[] = { "Name", "Kernel Name",
					     "Operation", NULL };
	static const char *const sums[] = { "Total Time", "Time", NULL };
	static const char *const counts[] = { "Instances", "Num Calls",
					      "Count", NULL };
	static const char *const starts[] = { "Start", "Kernel Start", NULL };
	static const char *const times[] = { "Duration", "Kernel Dur", NULL };
	struct column name = first_of(line, names);
	struct column start = first_of(line, starts);
	struct column duration = first_of(line, times);
	struct column sum = first_of(line, sums);
	struct column count = first_of(line, counts);

	if (name.at == KF_CSV_FIELDS)
		return false;
	if (start.at < KF_CSV_FIELDS && duration.at < KF_CSV_FIELDS) {
		r->kind = TRACE;
		r->start = start;
		r->time = duration;
	} else if (sum.at < KF_CSV_FIELDS && count.at < KF_CSV_FIELDS) {
		r->kind = KERNEL_SUM;
		r->time = sum;
		r->count = count;
	} else {
		return false;
	}
	r->name = name.at;
	r->registers = kf_csv_column(line, "Reg/Trd");
	r->header = true;
	return true;
}

/* kforge's own between calls, and what is no kernel. */
static bool is_ours(const char *name)
{
	return strncmp(name, "kf_digest", 9) == 0 ||
		strncmp(name, "kf_sums", 7) == 0 ||
		strncmp(name, "kf_fresh", 8) == 0 ||
		strncmp(name, "kf_peak", 7) == 0;
}

static char *short_name(const char *name)
{
	size_t len = strcspn(name, "(");

	return len ? kf_strndup(name, len) : kf_strdup(name);
}

static void add_time(struct kf_profile_kernel *kernel, double ns)
{
	kernel->time_ns = (isnan(kernel->time_ns) ? 0 : kernel->time_ns) + ns;
}

static void take_sum(struct reading *r, const struct kf_csv *line,
		     const char *name)
{
	struct kf_profile_kernel *kernel;
	double ns, count;

	if (!kf_csv_number(kf_csv_field(line, r->time.at), &ns) ||
	    !kf_csv_number(kf_csv_field(line, r->count.at), &count) ||
	    count < 0 || count > UINT32_MAX)
		return;
	r->summed = true;
	if (r->traced)		/* a trace says it in more detail */
		return;
	kernel = kf_profile_add_kernel(r->out, name);
	if (!kernel)
		return;
	add_time(kernel, ns * r->time.factor);
	kernel->launches += (unsigned)count;
}

/* A trace after a sum of the same launches takes its place. */
static void begin_trace(struct reading *r)
{
	if (r->summed && !r->traced)
		for (size_t i = 0; i < r->out->kernel_count; i++) {
			r->out->kernel[i].time_ns = (double)NAN;
			r->out->kernel[i].launches = 0;
		}
	r->traced = true;
}

static void take_launch(struct reading *r, const struct kf_csv *line,
			const char *name)
{
	struct kf_profile_kernel *kernel;
	double start, ns, registers;

	if (!kf_csv_number(kf_csv_field(line, r->start.at), &start) ||
	    !kf_csv_number(kf_csv_field(line, r->time.at), &ns))
		return;
	begin_trace(r);
	kernel = kf_profile_add_kernel(r->out, name);
	if (!kernel)
		return;
	start *= r->start.factor;
	ns *= r->time.factor;
	if (!(start > 0) && !(ns > 0)) {	/* lost: all stamps are 0 */
		kf_profile_add_missing(r->out, "some launches' times",
				       "nsys: their stamps were lost");
		return;
	}
	if (r->launches == LAUNCHES_MAX)
		return;
	add_time(kernel, ns);
	kernel->launches++;
	r->launch = kf_realloc(r->launch, (r->launches + 1) *
			       sizeof(r->launch[0]));
	r->launch[r->launches++] = (struct span) { start, start + ns };
	if (kf_csv_number(kf_csv_field(line, r->registers), &registers) &&
	    registers > 0)
		kf_metrics_add(&r->out->metrics, name, "registers", registers,
			       "count");
}

static void take_row(struct reading *r, const struct kf_csv *line)
{
	const char *field = kf_csv_field(line, r->name);
	char *name;

	if (!field[0] || field[0] == '[')	/* "[CUDA memset]" */
		return;
	name = short_name(field);
	r->graph |= strstr(field, "cudaGraph") != NULL ||
		strcmp(name, "CUDA Graph") == 0;
	if (!is_ours(name) && r->kind == KERNEL_SUM)
		take_sum(r, line, name);
	else if (!is_ours(name))
		take_launch(r, line, name);
	free(name);
}

/* --- what it comes to ----------------------------------------------------- */

/* Within calls only: what lies between two is kforge's. */
static void tell_gaps(struct reading *r, double calls)
{
	size_t each = (size_t)((double)r->launches / calls);
	double gap_ns = 0;

	if (each < 2 || (double)each * calls != (double)r->launches)
		return;
	for (size_t i = 1; i < r->launches; i++) {
		double gap = r->launch[i].start_ns - r->launch[i - 1].end_ns;

		if (i % each && gap > 0)
			gap_ns += gap;
	}
	kf_metrics_add(&r->out->metrics, NULL, "launch_gap", gap_ns / calls,
		       "ns");
}

static void settle(struct reading *r)
{
	struct kf_profile *out = r->out;
	double calls = out->call_count ? out->call_count : 1;
	double time_ns = 0;
	unsigned launches = 0;

	for (size_t i = 0; i < out->kernel_count; i++) {
		struct kf_profile_kernel *k = &out->kernel[i];

		if (k->launches % (unsigned)calls)
			kf_profile_add_missing(out, "some launches", "nsys: "
				"their number is no multiple of the calls', "
				"so events were lost");
		launches += k->launches;
		time_ns += isnan(k->time_ns) ? 0 : k->time_ns;
		k->time_ns /= calls;
		kf_metrics_add(&out->metrics, k->name, "time", k->time_ns,
			       "ns");
		kf_metrics_add(&out->metrics, k->name, "launches",
			       k->launches / calls, "count");
		k->launches = (unsigned)(k->launches / calls + 0.5);
	}
	kf_metrics_add(&out->metrics, NULL, "launches", launches / calls,
		       "count");
	if (time_ns > 0)
		kf_metrics_add(&out->metrics, NULL, "time", time_ns / calls,
			       "ns");
	tell_gaps(r, calls);
	if (r->graph)
		kf_profile_add_missing(out, "per-kernel times", "nsys: graphs "
			"were seen as one block; --cuda-graph-trace=node "
			"shows their kernels");
	kf_profile_share_times(out);
}

static bool has_words(const struct kf_profile_bytes *b)
{
	for (size_t i = 0; i < b->len; i++)
		if (!strchr(" \t\r\n", b->text[i]))
			return true;
	return false;
}

static enum kf_profile_end end_without_kernels(const struct reading *r,
					const struct kf_profile_bytes *b)
{
	static const char sign[] = "does not contain CUDA kernel data";

	if (kf_read_denied(b->text, b->len) ||
	    kf_read_denied(b->said, strlen(b->said)))
		return KF_PROFILE_DENIED;
	if (r->header || !has_words(b) || strstr(b->said, sign) ||
	    memmem(b->text, b->len, sign, sizeof(sign) - 1))
		return KF_PROFILE_EMPTY;
	return KF_PROFILE_FORMAT;
}

void kf_read_nsys(const struct kf_profile_bytes *bytes, struct kf_profile *out)
{
	struct reading r = { .out = out };
	struct kf_csv line = { 0 };
	size_t at = 0;

	while (kf_csv_next(&line, bytes->text, bytes->len, &at, ','))
		if (!take_header(&r, &line) && r.kind != NOTHING)
			take_row(&r, &line);
	kf_csv_release(&line);
	if (r.summed || r.launches)
		settle(&r);
	else if (!out->missing_count)
		out->end = end_without_kernels(&r, bytes);
	if (out->end == KF_PROFILE_NONE)
		out->end = out->missing_count ? KF_PROFILE_PARTIAL :
			KF_PROFILE_GOOD;
	free(r.launch);
}
