/* What is kept of an output: windows, sums of every chunk, and on which scale
 * they are judged (docs/bundles.md, "Condensed bundles"). */
#include <math.h>

#include "base/parallel.h"
#include "cproblem/condensed.h"
#include "evaluate/digest.h"

#define WINDOW_STEP UINT64_C(64)	/* elements; windows begin there */
#define PART 64				/* chunks for one thread */

/* --- windows -------------------------------------------------------------- */

static int compare_places(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static bool is_there(const struct kf_sampled *o, int64_t at)
{
	for (int64_t i = 0; i < o->count; i++)
		if (o->at[i] == at)
			return true;
	return false;
}

void kf_windows_choose(struct kf_sampled *o, int64_t numel, struct kf_rng rng)
{
	o->at = kf_alloc(KF_WINDOWS * sizeof(o->at[0]));
	o->length = numel <= KF_WINDOWS * KF_WINDOW ? numel : KF_WINDOW;
	o->count = 1;
	if (o->length == numel)
		return;
	o->at[o->count++] = numel - o->length;
	while (o->count < KF_WINDOWS) {
		uint64_t place = kf_rng_below(&rng, (uint64_t)(numel -
							       o->length));
		int64_t at = (int64_t)(place / WINDOW_STEP * WINDOW_STEP);

		if (!is_there(o, at))
			o->at[o->count++] = at;
	}
	qsort(o->at, (size_t)o->count, sizeof(o->at[0]), compare_places);
}

void kf_windows_cut(const struct kf_sampled *o, enum kf_dtype dtype,
		    const void *from, void *to)
{
	size_t size = kf_dtype_bytes(dtype);

	for (int64_t w = 0; w < o->count; w++)
		memcpy((char *)to + (size_t)(w * o->length) * size,
		       (const char *)from + (size_t)o->at[w] * size,
		       (size_t)o->length * size);
}

/* --- sums ----------------------------------------------------------------- */

struct summing {
	const struct kf_tensor_info *info;
	const void *r, *near;		/* near: NULL without a perturbed run */
	const double *sign;
	struct kf_kept *kept;
};

/* g^2 = ((r of perturbed data - r) / step)^2; 0 where that is no number. */
static double reaction(double near, double r)
{
	double g = (near - r) / KF_ORACLE_STEP;

	return isfinite(g * g) ? g * g : 0;
}

static void add_energy(const struct summing *s, int64_t chunk,
		       const double *value)
{
	double near[KF_CHUNK], energy = 0, all = 0;

	if (s->near)
		kf_digest_read(s->info->dtype, s->near, s->info->numel, chunk,
			       near);
	for (int i = 0; i < KF_CHUNK; i++) {
		double square = value[i] * value[i];
		double g = s->near ? reaction(near[i], value[i]) : 0;

		energy += square > g ? square : g;
		all += g;
	}
	s->kept->energy[chunk] = energy;
	if (s->near)
		s->kept->reaction[chunk] = all;
}

static void sum_chunk(const struct summing *s, int64_t chunk)
{
	double value[KF_CHUNK];

	kf_digest_read(s->info->dtype, s->r, s->info->numel, chunk, value);
	kf_digest_sum(value, s->sign, s->kept->sums + chunk * KF_CHUNK_SUMS);
	if (s->kept->energy)
		add_energy(s, chunk, value);
}

static void sum_part(void *arg, size_t part)
{
	const struct summing *s = arg;
	int64_t chunk = (int64_t)part * PART;
	int64_t end = kf_chunks_of(s->info->numel);

	end = end < chunk + PART ? end : chunk + PART;
	for (; chunk < end; chunk++)
		sum_chunk(s, chunk);
}

void kf_condensed_sums(const struct kf_condenser *c, struct kf_sample *s,
		       size_t i, const void *near)
{
	const struct kf_tensor_info *info = &c->m->problem.out.at[i].info;
	double *sign = kf_digest_signs(s->signs);
	struct summing summing = {
		.info = info, .r = c->expect[i], .near = near, .sign = sign,
		.kept = &s->kept[i],
	};

	kf_parallel((size_t)((kf_chunks_of(info->numel) + PART - 1) / PART),
		    sum_part, &summing);
	free(sign);
}

/* --- scales --------------------------------------------------------------- */

/* Sums of one window: of sigma^2, and of max(r, g)^2. */
static void add_window(const struct kf_sampled *o, enum kf_dtype dtype,
		       const struct kf_kept *k, int64_t window, double *sigma,
		       double *plain)
{
	double noisy = 4 / kf_compare_limit(dtype, "declared");

	for (int64_t i = window * o->length; i < (window + 1) * o->length;
	     i++) {
		double r = kf_element(dtype, k->expect, i);
		double g = (double)k->react[i], e = (double)k->noise[i];
		double most = fmax(g * g, k->exact[i] * k->exact[i]);

		*sigma += fmax(most, e * noisy * e * noisy);
		*plain += fmax(g * g, r * r);
	}
}

/* By how much sigma^2 is more than max(r, g)^2 in a window, at most: the
 * reference's own error counts there too. */
static double kappa_of(const struct kf_sampled *o, enum kf_dtype dtype,
		       const struct kf_kept *k)
{
	double most = 1;

	for (int64_t w = 0; k->react && w < o->count; w++) {
		double sigma = 0, plain = 0;

		add_window(o, dtype, k, w, &sigma, &plain);
		if (plain > 0 && isfinite(sigma / plain))
			most = fmax(most, sigma / plain);
	}
	return most;
}

bool kf_condensed_scale(struct kf_condenser *c, struct kf_sample *s, size_t i)
{
	const struct kf_tensor_info *info = &c->m->problem.out.at[i].info;
	struct kf_sampled *o = &c->output[i];
	struct kf_kept *k = &s->kept[i];
	double kappa = o->kappa;
	bool finite = true;

	if (!k->energy)
		return true;	/* sums of whole numbers are equal */
	if (!s->stock)
		kappa = kappa_of(o, info->dtype, k);
	for (int64_t n = 0; n < kf_chunks_of(info->numel); n++) {
		double energy = k->energy[n];

		if (s->stock)
			energy = fmax(energy, o->reaction[n]);
		k->scale[n] = sqrt(energy * kappa);
		finite &= isfinite(k->scale[n]);
	}
	if (!s->first || !finite)
		return finite;
	o->kappa = kappa;	/* what the stock is held to */
	o->reaction = k->reaction;
	k->reaction = NULL;
	return true;
}

bool kf_condensed_flat(const struct kf_condenser *c, const struct kf_sample *s)
{
	const struct kf_ctensors *out = &c->m->problem.out;

	for (size_t i = 0; i < out->count; i++) {
		struct kf_tensor_info windows = out->at[i].info;

		windows.numel = c->output[i].count * c->output[i].length;
		if (!kf_oracle_flat(&windows, s->kept[i].expect,
				    s->kept[i].react))
			return false;
	}
	return true;
}
