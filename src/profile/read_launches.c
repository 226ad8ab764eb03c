/* What kforge-runner device says of every operation of every call. */
#include "profile/read.h"

#include <math.h>

#include "profile/csv.h"

struct columns {
	size_t call, name, start, end, groups, group_size, registers, shared,
	       local, occupancy, bytes, lost;
};

struct reading {
	struct kf_profile *out;
	struct columns column;
	double call;			/* the one that lines are of; 0: none */
	double end_ns;			/* of the operation before; 0: none */
	size_t calls, lines, unstamped;
	double gap_ns, time_ns;
	bool apart;
	bool warm_up;			/* lines of the first call, not counted */
	double lost;			/* events that were not kept */
};

static bool find_columns(const struct kf_csv *header, struct columns *c)
{
	*c = (struct columns) {
		.call = kf_csv_column(header, "call"),
		.name = kf_csv_column(header, "name"),
		.start = kf_csv_column(header, "start_ns"),
		.end = kf_csv_column(header, "end_ns"),
		.groups = kf_csv_column(header, "groups"),
		.group_size = kf_csv_column(header, "group_size"),
		.registers = kf_csv_column(header, "registers"),
		.shared = kf_csv_column(header, "shared_bytes"),
		.local = kf_csv_column(header, "local_bytes"),
		.occupancy = kf_csv_column(header, "occupancy"),
		.bytes = kf_csv_column(header, "bytes"),
		.lost = kf_csv_column(header, "lost"),
	};
	return c->call < KF_CSV_FIELDS && c->name < KF_CSV_FIELDS &&
		c->start < KF_CSV_FIELDS && c->end < KF_CSV_FIELDS;
}

/* Of all its launches in all calls. */
static void add_bytes(struct reading *r, const char *name, double bytes)
{
	double before = kf_metrics_value(&r->out->metrics, name,
					 "copied_bytes");

	kf_metrics_add(&r->out->metrics, name, "copied_bytes",
		       (isnan(before) ? 0 : before) + bytes, "byte");
}

static void take_facts(struct reading *r, const struct kf_csv *line,
		       const char *name)
{
	const struct { size_t column; const char *metric; double factor; }
	rows[] = {
		{ r->column.groups, "groups", 1 },
		{ r->column.group_size, "group_size", 1 },
		{ r->column.registers, "registers", 1 },
		{ r->column.shared, "shared_bytes", 1 },
		{ r->column.local, "local_bytes", 1 },
		{ r->column.occupancy, "occupancy_possible", 100 },
	};
	double value;

	for (size_t i = 0; i < KF_COUNT(rows); i++)
		if (kf_csv_number(kf_csv_field(line, rows[i].column), &value))
			kf_metrics_add(&r->out->metrics, name, rows[i].metric,
				       rows[i].factor * value,
				       kf_metric_about(rows[i].metric)->unit);
	if (kf_csv_number(kf_csv_field(line, r->column.bytes), &value))
		add_bytes(r, name, value);
}

static void take_time(struct reading *r, struct kf_profile_kernel *kernel,
		      double start_ns, double end_ns)
{
	double took_ns = end_ns - start_ns;

	if (!(start_ns > 0 || end_ns > 0) || took_ns < 0) {
		r->unstamped++;
		r->end_ns = 0;
		return;
	}
	/* A device whose events only lie between operations sees no gaps. */
	r->apart |= r->end_ns > 0 && start_ns != r->end_ns;
	if (r->end_ns > 0 && start_ns > r->end_ns)
		r->gap_ns += start_ns - r->end_ns;
	r->end_ns = end_ns;
	r->time_ns += took_ns;
	kernel->time_ns = (isnan(kernel->time_ns) ? 0 : kernel->time_ns) +
		took_ns;
}

static void take_line(struct reading *r, const struct kf_csv *line)
{
	const char *name = kf_csv_field(line, r->column.name);
	struct kf_profile_kernel *kernel;
	double call, start_ns, end_ns, lost;

	if (kf_csv_number(kf_csv_field(line, r->column.lost), &lost))
		r->lost += lost;
	if (!name[0] ||
	    !kf_csv_number(kf_csv_field(line, r->column.call), &call) ||
	    !kf_csv_number(kf_csv_field(line, r->column.start), &start_ns) ||
	    !kf_csv_number(kf_csv_field(line, r->column.end), &end_ns))
		return;
	if (call != r->call) {
		r->warm_up = r->call == 0 && r->out->call_count > 1;
		r->call = call;
		r->end_ns = 0;
		r->calls++;
	}
	if (r->warm_up)
		return;
	kernel = kf_profile_add_kernel(r->out, name);
	if (!kernel)
		return;
	r->lines++;
	kernel->launches++;
	take_time(r, kernel, start_ns, end_ns);
	take_facts(r, line, name);
}

/* Sums become values of one call. */
static void settle(struct reading *r, unsigned asked)
{
	struct kf_profile *out = r->out;
	double calls = (double)(asked > 1 ? r->calls - 1 : r->calls);

	for (size_t i = 0; i < out->kernel_count; i++) {
		struct kf_profile_kernel *k = &out->kernel[i];
		double launches = k->launches / calls;
		double bytes = kf_metrics_value(&out->metrics, k->name,
						"copied_bytes");

		kf_metrics_add(&out->metrics, k->name, "copied_bytes",
			       bytes / calls, "byte");
		k->time_ns /= calls;
		k->launches = (unsigned)(launches + 0.5);
		kf_metrics_add(&out->metrics, k->name, "time", k->time_ns,
			       "ns");
		kf_metrics_add(&out->metrics, k->name, "launches", launches,
			       "count");
	}
	kf_metrics_add(&out->metrics, NULL, "launches",
		       (double)r->lines / calls, "count");
	if (r->time_ns > 0) {
		kf_metrics_add(&out->metrics, NULL, "time", r->time_ns / calls,
			       "ns");
	}
	if (r->apart)
		kf_metrics_add(&out->metrics, NULL, "launch_gap",
			       r->gap_ns / calls, "ns");
	kf_profile_share_times(out);
}

static void tell_lost(struct reading *r)
{
	char *why;

	if (!(r->lost > 0))
		return;
	why = kf_format("the tool lost %.0f events: it had no room for them",
			r->lost);
	kf_profile_add_missing(r->out, "lost events", why);
	free(why);
}

static void conclude(struct reading *r)
{
	struct kf_profile *out = r->out;
	unsigned asked = out->call_count;

	tell_lost(r);
	if (!r->lines || (asked > 1 && r->calls < 2)) {
		out->end = KF_PROFILE_EMPTY;
		return;
	}
	settle(r, asked);
	if (r->unstamped)
		kf_profile_add_missing(out, "some launches' times", "the "
				       "device gave no time for them");
	if (asked && r->calls != asked)
		kf_profile_add_missing(out, "some calls", "fewer calls were "
				       "traced than were made");
	out->end = out->missing_count ? KF_PROFILE_PARTIAL : KF_PROFILE_GOOD;
}

/* The runner's words on why it could see none, in the place of all else. */
static bool read_unseen(const struct kf_profile_bytes *bytes, const char *tool,
			struct kf_profile *out)
{
	static const char mark[] = "unseen ";
	const size_t skip = sizeof(mark) - 1;
	struct kf_buf why = { .max = 160 };

	if (bytes->len < skip || memcmp(bytes->text, mark, skip) != 0)
		return false;
	kf_utf8_clean(bytes->text + skip, strcspn(bytes->text + skip, "\n"),
		      &why);
	out->end = kf_read_denied(kf_buf_str(&why), why.len) ?
		KF_PROFILE_DENIED : KF_PROFILE_ABSENT;
	if (out->end == KF_PROFILE_ABSENT)
		kf_profile_add_missing(out, tool, kf_buf_str(&why));
	kf_buf_release(&why);
	return true;
}

static void read_trace(const struct kf_profile_bytes *bytes, const char *tool,
		       struct kf_profile *out)
{
	struct reading r = { .out = out };
	struct kf_csv line = { 0 };
	bool found = false;
	size_t at = 0;

	if (read_unseen(bytes, tool, out))
		return;
	while (kf_csv_next(&line, bytes->text, bytes->len, &at, ','))
		if (!found)
			found = find_columns(&line, &r.column);
		else
			take_line(&r, &line);
	kf_csv_release(&line);
	if (found)
		conclude(&r);
	else
		out->end = bytes->len ? KF_PROFILE_FORMAT : KF_PROFILE_EMPTY;
}

void kf_read_launches(const struct kf_profile_bytes *bytes,
		      struct kf_profile *out)
{
	read_trace(bytes, "launches", out);
}

void kf_read_cupti(const struct kf_profile_bytes *bytes, struct kf_profile *out)
{
	read_trace(bytes, "cupti", out);
}
