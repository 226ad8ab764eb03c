/* A roofline for a terminal. */
#include "profile/profile.h"

#include <math.h>

#define BAR 40

/* "12.3 GB", "4.56 TFLOP/s": three digits in decimal steps. */
static void amount(double value, const char *unit, char out[48])
{
	static const char *const step[] = { "", "k", "M", "G", "T", "P" };
	size_t i = 0;

	while (value >= 999.5 && i + 1 < KF_COUNT(step)) {
		value /= 1000;
		i++;
	}
	snprintf(out, 48, "%.3g %s%s", value, step[i], unit);
}

static void bar(double share, struct kf_buf *out)
{
	int full = share >= 1 ? BAR : share > 0 ? (int)(share * BAR + 0.5) : 0;

	kf_buf_puts(out, "[");
	for (int i = 0; i < BAR; i++)
		kf_buf_puts(out, i < full ? "#" : ".");
	kf_buf_puts(out, "]");
}

static void one_bound(const char *name, double work, const char *unit,
		      double per_s, double bound_ns, double share,
		      struct kf_buf *out)
{
	char done[48], rate[48], unit_s[24], time[32];

	if (isnan(bound_ns)) {
		kf_buf_printf(out, "%-8s unknown: %s\n", name, isnan(work) ?
			      "the problem's are not counted" :
			      "the device's ceiling was not measured");
		return;
	}
	amount(work, unit, done);
	snprintf(unit_s, sizeof(unit_s), "%s/s", unit);
	amount(per_s, unit_s, rate);
	kf_buf_printf(out, "%-8s %s at %s: %s", name, done, rate,
		      kf_time_words(bound_ns, 3, time));
	if (!isnan(share)) {
		kf_buf_puts(out, "\n         ");
		bar(share, out);
		kf_buf_printf(out, " %.1f %%", 100 * share);
	}
	kf_buf_puts(out, "\n");
}

static void one_point(const struct kf_roofline_point *p, struct kf_buf *out)
{
	char moved[48], time[32];

	kf_time_words(p->time_ns, 3, time);
	kf_buf_printf(out, "  %.40s: %s", p->kernel, time);
	if (!isnan(p->share)) {
		amount(p->bytes, "B", moved);
		kf_buf_printf(out, ", moved %s: %.1f %% of the bandwidth",
			      moved, 100 * p->share);
	}
	kf_buf_puts(out, "\n");
}

void kf_roofline_words(const struct kf_roofline *r, struct kf_buf *out)
{
	char time[32], why[256];

	kf_buf_printf(out, "time     %s\n", isnan(r->time_ns) ? "not taken" :
		      kf_time_words(r->time_ns, 3, time));
	one_bound("memory", r->bytes, "B", r->bytes_per_s, r->memory_ns,
		  r->memory_share, out);
	one_bound("compute", r->flops, "FLOP", r->flops_per_s, r->compute_ns,
		  r->compute_share, out);
	if (r->bound != KF_CLASS_UNKNOWN)
		kf_buf_printf(out, "bound by %s%s\n", r->bound ==
			      KF_CLASS_COMPUTE ? "operations, as the reference "
			      "counts them (a program may need fewer)" :
			      "memory", r->cached ? "; all tensors fit in the "
			      "cache, so the memory bound can be beaten" : "");
	for (size_t i = 0; i < r->point_count && i < 8; i++)
		one_point(&r->point[i], out);
	if (kf_roofline_reached(r, why))
		kf_buf_printf(out, "%s\n", why);
}
