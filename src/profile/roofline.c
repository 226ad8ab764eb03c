/*
 * Where a program stands between what it does and what its device can do.
 *
 * Bytes and operations are the problem's: each input, weight and output once,
 * and the operations of the reference. A program may need fewer operations
 * (Strassen, a triangular matrix), so they advise; it cannot need fewer bytes,
 * unless they are in the cache when it begins.
 */
#include "profile/profile.h"

#include <math.h>

#define BEATEN 0.25
#define LEFT_OVER	0.05	/* of the memory bound: not worth a reply */

static double known(double value)
{
	return value > 0 ? value : (double)NAN;
}

static double bound_ns(double work, double per_s)
{
	return known(work) / known(per_s) * 1e9;
}

/* The share of a device's bandwidth that a kernel reached by what it moved. */
static void add_point(struct kf_roofline *out, const struct kf_metrics *m,
		      const struct kf_profile_kernel *k)
{
	double read = kf_metrics_value(m, k->name, "dram_bytes_read");
	double written = kf_metrics_value(m, k->name, "dram_bytes_written");
	struct kf_roofline_point *p = &out->point[out->point_count++];

	*p = (struct kf_roofline_point) {
		.kernel = kf_strdup(k->name),
		.time_ns = k->time_ns,
		.bytes = read + written,
		.flops = kf_metrics_value(m, k->name, "flops"),
	};
	p->share = bound_ns(p->bytes, out->bytes_per_s) / p->time_ns;
}

static void add_points(struct kf_roofline *out,
		       const struct kf_profile *profile)
{
	size_t count = profile ? profile->kernel_count : 0;

	out->point = kf_alloc((count + 1) * sizeof(out->point[0]));
	for (size_t i = 0; i < count; i++)
		if (!isnan(profile->kernel[i].time_ns))
			add_point(out, &profile->metrics, &profile->kernel[i]);
}

void kf_roofline_make(const struct kf_bundle *bundle,
		      const struct kf_device_info *device, double time_ns,
		      const struct kf_profile *profile,
		      struct kf_roofline *out)
{
	const struct kf_ceilings *c = &device->ceiling;

	*out = (struct kf_roofline) {
		.bytes = known(bundle->bytes),
		.flops = known(bundle->flops),
		.bytes_per_s = known(c->bytes_per_s),
		.flops_per_s = known(c->flops_per_s),
		.matrix_flops_per_s = known(c->matrix_flops_per_s),
		.cache_bytes = known((double)c->cache_bytes),
		.time_ns = known(time_ns),
	};
	out->memory_ns = bound_ns(out->bytes, out->bytes_per_s);
	out->compute_ns = bound_ns(out->flops, out->flops_per_s);
	out->memory_share = out->memory_ns / out->time_ns;
	out->compute_share = out->compute_ns / out->time_ns;
	out->cached = out->bytes <= out->cache_bytes;
	if (!isnan(out->memory_ns) || !isnan(out->compute_ns))
		out->bound = out->compute_ns > out->memory_ns ||
			isnan(out->memory_ns) ? KF_CLASS_COMPUTE :
			KF_CLASS_BANDWIDTH;
	out->share = out->bound == KF_CLASS_COMPUTE ? out->compute_share :
		out->memory_share;
	add_points(out, profile);
}

void kf_roofline_release(struct kf_roofline *roofline)
{
	for (size_t i = 0; i < roofline->point_count; i++)
		free(roofline->point[i].kernel);
	free(roofline->point);
	*roofline = (struct kf_roofline) { 0 };
}

/* In the cache the bound is no bound: then nothing is said. Nor where it is
 * beaten by far: that ceiling was measured while the machine did other work. */
bool kf_roofline_reached(const struct kf_roofline *roofline, char why[256])
{
	double left = roofline->time_ns / roofline->memory_ns - 1;
	char time[32], bound[32];

	why[0] = '\0';
	if (isnan(left) || roofline->cached || left >= LEFT_OVER ||
	    left < -BEATEN)
		return false;
	snprintf(why, 256, "it takes %s and memory alone takes %s: what is "
		 "left is under %.0f %% of the memory bound",
		 kf_time_words(roofline->time_ns, 3, time),
		 kf_time_words(roofline->memory_ns, 3, bound),
		 100 * LEFT_OVER);
	return true;
}
