#include "evaluate/claim.h"

#include <math.h>

#define LEAST_NS	500.0
#define WIDTHS		3

/* Of the inputs: what is proved of each (docs/judging.md). Of all: a device
 * that only reads, or only writes, is faster than one that copies. */
#define MOVED_SHARE	0.75

bool kf_claim_shown(double difference_ns, double width_ns)
{
	return fabs(difference_ns) > LEAST_NS &&
		fabs(difference_ns) > WIDTHS * width_ns;
}

static double compulsory_bytes(const struct kf_bundle *b, double cache_bytes)
{
	double read = 0;
	double written = (double)kf_tensors_bytes(b->out, b->out_count) -
		cache_bytes;

	for (size_t i = 0; i < b->in_count; i++)
		if (b->in[i].must_be_read)
			read += (double)b->in[i].bytes;
	return MOVED_SHARE * (read + fmax(written, 0));
}

struct kf_floor kf_floor_of(const struct kf_evaluate_request *req)
{
	const struct kf_ceilings *c = &req->device_ceiling;
	struct kf_floor floor = { .ns = (double)NAN };

	/* Of an unknown cache nobody can say that it was flushed. */
	if (!req->platform->driver->flushes || !c->cache_bytes)
		return floor;
	floor.bytes = compulsory_bytes(req->bundle, (double)c->cache_bytes);
	floor.in_theory = c->bytes_per_s <= 0;
	floor.bytes_per_s = floor.in_theory ? c->bytes_per_s_in_theory
					    : c->bytes_per_s;
	if (floor.bytes > 0 && floor.bytes_per_s > 0)
		floor.ns = floor.bytes / floor.bytes_per_s * 1e9;
	return floor;
}

bool kf_floor_beaten(const struct kf_floor *floor, double time_ns,
		     double baseline_ns)
{
	return time_ns < floor->ns &&
		!(baseline_ns > 0 && baseline_ns < floor->ns);
}

void kf_floor_say(const struct kf_floor *floor, double time_ns,
		  struct kf_buf *out)
{
	char time[32], least[32];

	kf_buf_printf(out, "a call took %s, and the bytes alone that it must "
		      "move take %s at the device's %s %.3g TB/s",
		      kf_time_words(time_ns, 3, time),
		      kf_time_words(floor->ns, 3, least),
		      floor->in_theory ? "theoretical" : "measured",
		      floor->bytes_per_s * 1e-12);
}
