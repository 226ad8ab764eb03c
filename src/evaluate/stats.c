#include "evaluate/stats.h"

#include <math.h>

static int by_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int by_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

uint64_t kf_stats_median_u64(const uint64_t *value, size_t count)
{
	uint64_t *sorted, low, high;

	if (!count)
		return 0;
	sorted = kf_alloc(count * sizeof(*sorted));
	memcpy(sorted, value, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), by_u64);
	low = sorted[(count - 1) / 2];
	high = sorted[count / 2];
	free(sorted);
	return low + (high - low) / 2;
}

double kf_stats_median(const double *value, size_t count)
{
	double *sorted, median;

	if (!count)
		return (double)NAN;
	sorted = kf_alloc(count * sizeof(*sorted));
	memcpy(sorted, value, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), by_double);
	median = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
	free(sorted);
	return median;
}

double kf_stats_t95(unsigned df)
{
	static const double exact[] = {
		12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646,
		2.3060, 2.2622, 2.2281, 2.2010, 2.1788, 2.1604, 2.1448,
		2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860, 2.0796,
		2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484,
		2.0452, 2.0423,
	};
	const double z = 1.959964;

	if (!df)
		return (double)INFINITY;
	if (df <= KF_COUNT(exact))
		return exact[df - 1];
	/* Fisher's expansion; good to 1e-4 from here on. */
	return z + (z * z * z + z) / (4.0 * df) +
		(5 * pow(z, 5) + 16 * z * z * z + 3 * z) / (96.0 * df * df);
}

void kf_stats_ratio(const double *candidate_ns, const double *baseline_ns,
		    size_t block_count, struct kf_ratio *out)
{
	const double n = (double)block_count;
	double mean = 0, squares = 0, reach;

	*out = (struct kf_ratio) {
		(double)NAN, (double)NAN, (double)NAN, (double)NAN, block_count
	};
	for (size_t i = 0; i < block_count; i++)
		mean += log(baseline_ns[i] / candidate_ns[i]) / n;
	if (block_count)
		out->ratio = exp(mean);
	if (block_count < 2)
		return;
	for (size_t i = 0; i < block_count; i++) {
		double off = log(baseline_ns[i] / candidate_ns[i]) - mean;

		squares += off * off;
	}
	reach = kf_stats_t95((unsigned)block_count - 1) *
		sqrt(squares / (n - 1) / n);
	out->low = exp(mean - reach);
	out->high = exp(mean + reach);
	out->width = (out->high - out->low) / out->ratio;
}

const struct kf_stop_rule kf_stop_default = {
	.block_min = 5, .block_max = 20, .width = 0.02,
};

bool kf_stats_done(const struct kf_stop_rule *rule, const struct kf_ratio *r)
{
	if (r->block_count >= rule->block_max)
		return true;
	return r->block_count >= rule->block_min && r->width <= rule->width;
}
