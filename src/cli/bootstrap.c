#include "cli/bootstrap.h"

#include <math.h>

#include "evaluate/stats.h"

#define DRAWS	4000u
#define SEED	UINT64_C(0x6b666f726765)

static int smaller_first(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double mean_of_draw(const double *value, size_t count,
			   struct kf_rng *rng)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += value[kf_rng_below(rng, count)];
	return sum / (double)count;
}

/* Draws to be left out at each end. */
static size_t tail_of(size_t count)
{
	double n = (double)count;
	double t = sqrt(n / (n - 1)) * kf_stats_t95((unsigned)count - 1);

	return (size_t)(DRAWS * erfc(t / sqrt(2)) / 2);
}

static void draw(const double *value, size_t count, struct kf_interval *out)
{
	double *mean = kf_alloc(DRAWS * sizeof(*mean));
	size_t tail = tail_of(count);
	struct kf_rng rng = { SEED };

	for (unsigned i = 0; i < DRAWS; i++)
		mean[i] = mean_of_draw(value, count, &rng);
	qsort(mean, DRAWS, sizeof(*mean), smaller_first);
	out->low = mean[tail];
	out->high = mean[DRAWS - 1 - tail];
	free(mean);
}

struct kf_interval kf_bootstrap(const double *value, size_t count)
{
	double *known = kf_alloc((count + 1) * sizeof(*known));
	struct kf_interval out = {
		.mean = (double)NAN, .low = (double)NAN, .high = (double)NAN,
	};
	double sum = 0;

	for (size_t i = 0; i < count; i++) {
		if (isnan(value[i]))
			continue;
		known[out.count++] = value[i];
		sum += value[i];
	}
	if (out.count)
		out.mean = sum / (double)out.count;
	if (out.count > 1)
		draw(known, out.count, &out);
	free(known);
	return out;
}

struct kf_interval kf_bootstrap_exp(const double *logarithm, size_t count)
{
	struct kf_interval out = kf_bootstrap(logarithm, count);

	out.mean = exp(out.mean);
	out.low = exp(out.low);
	out.high = exp(out.high);
	return out;
}

json_t *kf_interval_to_json(const struct kf_interval *interval)
{
	return json_pack("{s:o, s:o, s:o, s:I}",
			 "mean", kf_json_number(interval->mean),
			 "low", kf_json_number(interval->low),
			 "high", kf_json_number(interval->high),
			 "problems", (json_int_t)interval->count);
}
