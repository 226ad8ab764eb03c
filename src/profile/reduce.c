/* The one page. What does not fit is left out from the end; the beginning says
 * most. */
#include "profile/rules.h"

#include <math.h>

#define FINDINGS_TOLD	3u
#define KERNELS_TOLD	6u
#define LINES_TOLD	5u

/* "1.23 ms", "4.5 MB", "78.1 %", "12.3 M" */
static const char *amount(double value, const char *unit, char out[48])
{
	static const char *const step[] = { "", " k", " M", " G", " T" };
	bool bytes = strncmp(unit, "byte", 4) == 0;
	size_t i = 0;

	if (strcmp(unit, "ns") == 0)
		return kf_time_words(value, 3, out);
	if (strcmp(unit, "%") == 0)
		snprintf(out, 48, "%.1f %%", value);
	else if (strcmp(unit, "ratio") == 0)
		snprintf(out, 48, "%.3g", value);
	else {
		while (value >= 9999.5 && i + 1 < KF_COUNT(step)) {
			value /= 1000;
			i++;
		}
		snprintf(out, 48, "%.4g%s%s%s", value, i || !bytes ? step[i] :
			 " ", bytes ? "B" : "", strcmp(unit, "byte/s") == 0 ?
			 "/s" : "");
	}
	return out;
}

static void tell_times(const struct kf_roofline *r, struct kf_buf *out)
{
	char time[32], bound[32];

	if (isnan(r->time_ns))
		return;
	kf_buf_printf(out, "A call takes %s.", kf_time_words(r->time_ns, 3,
							      time));
	if (!isnan(r->memory_ns))
		kf_buf_printf(out, " Its bytes alone take %s (%.0f %%)%s.",
			      kf_time_words(r->memory_ns, 3, bound),
			      100 * r->memory_share, r->cached ? ", and less "
			      "where they are in the cache, as all of them "
			      "may be" : "");
	if (!isnan(r->compute_ns))
		kf_buf_printf(out, " The reference's operations alone take %s "
			      "(%.0f %%).", kf_time_words(r->compute_ns, 3,
							  bound),
			      100 * r->compute_share);
	if (r->memory_share > 1.05 && !r->cached)
		kf_buf_puts(out, " It is below the time for its bytes: the "
			    "bandwidth was measured while others used the "
			    "device, or what it reads was in a cache.");
	kf_buf_puts(out, "\n");
}

/* --- kernels -------------------------------------------------------------- */

static void tell_facts(const struct kf_profile *p, const char *kernel,
		       struct kf_buf *out)
{
	static const struct { const char *name, *words; } rows[] = {
		{ "groups", "groups" }, { "group_size", "threads each" },
		{ "registers", "registers" }, { "shared_bytes", "shared" },
		{ "spill_bytes", "spilled" },
		{ "local_bytes", "in local memory" },
		{ "occupancy_possible", "occupancy possible" },
	};
	char text[48];

	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		const struct kf_metric *m = kf_metrics_find(&p->metrics,
							    kernel,
							    rows[i].name);

		if (m)
			kf_buf_printf(out, ", %s %s", amount(m->value, m->unit,
							     text),
				      rows[i].words);
	}
}

static void tell_kernel(const struct kf_profile *p,
			const struct kf_profile_kernel *k, struct kf_buf *out)
{
	char time[32];

	kf_buf_printf(out, "  %5.1f %%  %.60s", 100 * k->share, k->name);
	if (!isnan(k->time_ns))
		kf_buf_printf(out, ": %s", kf_time_words(k->time_ns, 3, time));
	if (k->launches > 1)
		kf_buf_printf(out, " in %u launches", k->launches);
	tell_facts(p, k->name, out);
	kf_buf_puts(out, "\n");
}

static void tell_kernels(const struct kf_profile *p, struct kf_buf *out)
{
	size_t told = 0;

	if (!p->kernel_count || isnan(p->kernel[0].share))
		return;
	kf_buf_printf(out, "\nWhere the %s goes:\n", strcmp(p->share_of,
		      "time") == 0 ? "time" : "work (instructions)");
	for (; told < p->kernel_count && told < KERNELS_TOLD; told++)
		if (!isnan(p->kernel[told].share))
			tell_kernel(p, &p->kernel[told], out);
	if (told < p->kernel_count)
		kf_buf_printf(out, "  and %zu smaller ones\n",
			      p->kernel_count - told);
}

/* Lines of the program's text are metrics of "program.c:LINE". */
static void tell_lines(const struct kf_profile *p, struct kf_buf *out)
{
	double all = kf_metrics_value(&p->metrics, NULL, "instructions");
	size_t told = 0;

	for (size_t i = 0; i < p->metrics.count && told < LINES_TOLD; i++) {
		const struct kf_metric *m = &p->metrics.metric[i];

		if (strncmp(m->kernel, "program.c:", 10) != 0 ||
		    strcmp(m->name, "instructions") != 0 ||
		    !(m->value >= 0.05 * all))
			continue;
		kf_buf_printf(out, "%s%s (%.0f %%)", told ? ", " :
			      "Hot lines: ", m->kernel, 100 * m->value / all);
		told++;
	}
	if (told)
		kf_buf_puts(out, "\n");
}

/* --- findings ------------------------------------------------------------- */

static void tell_evidence(const struct kf_profile *p,
			  const struct kf_finding *f, struct kf_buf *out)
{
	char text[48];
	bool any = false;

	for (size_t i = 0; f->evidence[i]; i++) {
		const struct kf_metric *m = kf_metrics_find(&p->metrics,
							    f->kernel,
							    f->evidence[i]);

		if (!m)
			continue;
		kf_buf_printf(out, "%s%s = %s", any ? ", " : "   evidence: ",
			      m->name, amount(m->value, m->unit, text));
		any = true;
	}
	if (any)
		kf_buf_puts(out, "\n");
}

static void tell_findings(const struct kf_profile *p,
			  const struct kf_findings *findings,
			  struct kf_buf *out)
{
	if (findings->count)
		kf_buf_puts(out, "\nWhat holds it up, the most first:\n");
	for (size_t i = 0; i < findings->count && i < FINDINGS_TOLD; i++) {
		const struct kf_finding *f = &findings->finding[i];

		kf_buf_printf(out, "%zu. %s%s%s: %s.\n", i + 1,
			      kf_profile_class_name(f->which), f->kernel[0] ?
			      ", " : "", f->kernel, f->text);
		tell_evidence(p, f, out);
		kf_buf_printf(out, "   what usually helps: %s\n", f->change);
	}
}

/* --- the rest ------------------------------------------------------------- */

/* The program's own counters, those that the table explains. */
static void tell_counters(const struct kf_profile *p, struct kf_buf *out)
{
	char text[48];
	bool any = false;

	for (size_t i = 0; i < p->metrics.count; i++) {
		const struct kf_metric *m = &p->metrics.metric[i];
		const struct kf_metric_about *about = kf_metric_about(m->name);

		if (m->kernel[0])
			continue;
		kf_buf_printf(out, "%s  %s = %s%s%s\n", any ? "" :
			      "\nCounted, for one call:\n", m->name,
			      amount(m->value, m->unit, text),
			      about ? "  " : "", about ? about->says : "");
		any = true;
	}
}

static void tell_missing(const struct kf_profile *p, struct kf_buf *out)
{
	const char *why = NULL;

	if (p->missing_count)
		kf_buf_puts(out, "\nNot measured (this is not zero):");
	for (size_t i = 0; i < p->missing_count; i++) {
		const struct kf_profile_missing *m = &p->missing[i];
		bool same = why && strcmp(why, m->why) == 0;

		if (why && !same)
			kf_buf_printf(out, " (%s)", why);
		kf_buf_printf(out, "%s %s", i == 0 ? "" : same ? "," : ";",
			      m->what);
		why = m->why;
	}
	if (why)
		kf_buf_printf(out, " (%s)\n", why);
}

/* Without a rule that applies the roofline alone decides. */
static enum kf_profile_class class_of(const struct kf_findings *findings,
				      const struct kf_roofline *roofline)
{
	if (findings->count)
		return findings->finding[0].which;
	return roofline && !isnan(roofline->time_ns) ? roofline->bound :
		KF_CLASS_UNKNOWN;
}

/* Whole lines only. */
static void add_page(const struct kf_buf *page, struct kf_buf *out)
{
	size_t len = page->len;
	const char *text = kf_buf_str(page);

	if (len == page->max)
		while (len && text[len - 1] != '\n')
			len--;
	kf_buf_add(out, text, len);
}

enum kf_profile_class kf_profile_reduce(const struct kf_profile *profile,
					const struct kf_roofline *roofline,
					struct kf_buf *out)
{
	struct kf_findings *findings = kf_alloc(sizeof(*findings));
	struct kf_buf page = { .max = KF_PROFILE_PAGE_BYTES };
	enum kf_profile_class which;

	kf_rules_apply(profile, roofline, findings);
	which = class_of(findings, roofline);
	kf_buf_printf(&page, "Bottleneck: %s\n",
		      kf_profile_class_name(which));
	if (roofline)
		tell_times(roofline, &page);
	if (kf_profile_busy(profile))
		kf_buf_puts(&page, "The machine was busy while this was "
			    "counted: threads waited for processors that "
			    "others had.\n");
	tell_findings(profile, findings, &page);
	tell_kernels(profile, &page);
	tell_lines(profile, &page);
	tell_missing(profile, &page);
	tell_counters(profile, &page);
	if (profile->source && profile->source[0])
		kf_buf_printf(&page, "\nBy %s.\n", profile->source);
	add_page(&page, out);
	kf_buf_release(&page);
	free(findings);
	return which;
}
