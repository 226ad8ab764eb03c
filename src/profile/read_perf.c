/*
 * perf stat -x, has no header: a line is value, unit, event, run time, share of
 * the time that it was counted, and what perf makes of it. Older versions lack
 * the unit or the end, and options put fields before it, so lines are read from
 * the event on.
 */
#include "profile/read.h"

#include <math.h>

#include "profile/csv.h"

static const struct { const char *event, *name; } events[] = {
	{ "task-clock", "cpu_time" },
	{ "instructions", "instructions" },
	{ "cycles", "cycles" },
	{ "cpu-cycles", "cycles" },
	{ "stalled-cycles-backend", "stalled_cycles" },
	{ "cache-references", "cache_references" },
	{ "cache-misses", "cache_misses" },
	{ "L1-dcache-loads", "l1_loads" },
	{ "L1-dcache-load-misses", "l1_misses" },
	{ "LLC-loads", "llc_loads" },
	{ "LLC-load-misses", "llc_misses" },
	{ "dTLB-load-misses", "tlb_misses" },
	{ "branches", "branches" },
	{ "branch-instructions", "branches" },
	{ "branch-misses", "branch_misses" },
	{ "page-faults", "page_faults" },
	{ "faults", "page_faults" },
	{ "context-switches", "context_switches" },
	{ "cs", "context_switches" },
	{ "cpu-migrations", "migrations" },
	{ "migrations", "migrations" },
};

/* "cpu_core/cycles:u/" is cycles. */
static const char *shared_name(const char *field)
{
	const char *slash = strchr(field, '/');
	const char *at = slash && slash[1] ? slash + 1 : field;
	size_t len = strcspn(at, ":/");

	for (size_t i = 0; i < KF_COUNT(events); i++)
		if (strlen(events[i].event) == len &&
		    strncmp(events[i].event, at, len) == 0)
			return events[i].name;
	return NULL;
}

static const char *find_event(const struct kf_csv *line, size_t *column)
{
	for (size_t i = 1; i < line->count; i++) {
		const char *name = shared_name(line->field[i]);

		if (name) {
			*column = i;
			return name;
		}
	}
	return NULL;
}

static void tell_uncounted(const char *name, const char *field,
			   struct kf_profile *out)
{
	if (strstr(field, "not supported"))
		kf_profile_add_missing(out, name, "perf: this machine does not "
				       "count it, as most virtual machines do "
				       "not");
	else
		kf_profile_add_missing(out, name, "perf: it was not counted");
}

/* On machines with two kinds of cores an event comes once for each. */
static void take_value(const char *name, double value, const char *unit,
		       struct kf_profile *out)
{
	const struct kf_metric_about *about = kf_metric_about(name);
	double before = kf_metrics_value(&out->metrics, NULL, name);

	(void)kf_metric_unit(unit, &value);
	value /= out->call_count ? out->call_count : 1;
	if (!isnan(before))
		value += before;
	kf_metrics_add(&out->metrics, NULL, name, value, about->unit);
}

static bool take_line(const struct kf_csv *line, struct kf_profile *out)
{
	size_t at = 0;
	const char *name = find_event(line, &at);
	const char *unit = at >= 2 ? line->field[at - 1] : "";
	const char *field = line->field[at >= 2 ? at - 2 : 0];
	double value, counted;

	if (!name)
		return false;
	if (!kf_csv_number(field, &value)) {
		tell_uncounted(name, field, out);
		return true;
	}
	if (strcmp(name, "cpu_time") == 0 && !unit[0])
		unit = "msec";
	take_value(name, value, unit, out);
	if (kf_csv_number(kf_csv_field(line, at + 2), &counted) &&
	    counted < 99.5)
		kf_profile_add_missing(out, "exact counts", "perf: there are "
				       "fewer counters than events, so counts "
				       "are scaled from part of the time");
	return true;
}

static void derive(struct kf_profile *out)
{
	struct kf_metrics *m = &out->metrics;

	kf_metrics_add(m, NULL, "instructions_per_cycle",
		       kf_metrics_value(m, NULL, "instructions") /
		       kf_metrics_value(m, NULL, "cycles"), "ratio");
}

void kf_read_perf(const struct kf_profile_bytes *bytes, struct kf_profile *out)
{
	struct kf_csv line = { 0 };
	size_t at = 0, seen = 0;
	bool text = false;

	while (kf_csv_next(&line, bytes->text, bytes->len, &at, ',')) {
		if (!line.count || !line.field[0][0] ||
		    line.field[0][0] == '#')
			continue;
		text = true;
		seen += take_line(&line, out);
	}
	kf_csv_release(&line);
	derive(out);
	if (!seen && (kf_read_denied(bytes->text, bytes->len) ||
		      kf_read_denied(bytes->said, strlen(bytes->said))))
		out->end = KF_PROFILE_DENIED;
	else if (!seen)
		out->end = text ? KF_PROFILE_FORMAT : KF_PROFILE_EMPTY;
	else if (!out->metrics.count)
		out->end = KF_PROFILE_EMPTY;
	else
		out->end = out->missing_count ? KF_PROFILE_PARTIAL :
			KF_PROFILE_GOOD;
}
