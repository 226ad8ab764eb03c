#include "evaluate/digest.h"

#include <math.h>

#include "base/parallel.h"
#include "evaluate/compare_block.h"

#define FACTOR 8.0		/* of T, for sums */
#define PART 128		/* chunks for one thread */

int64_t kf_expect_count(const struct kf_tensor_info *info,
			const struct kf_digest *digest)
{
	return digest ? digest->window_count * digest->window : info->numel;
}

int64_t kf_digest_place(const struct kf_digest *digest, int64_t k)
{
	return digest ? digest->at[k / digest->window] + k % digest->window : k;
}

static int64_t numel_of(const struct kf_compare_request *req)
{
	int64_t numel = 1;

	for (int axis = 0; axis < req->rank; axis++)
		numel *= req->shape[axis];
	return numel;
}

/* --- windows -------------------------------------------------------------- */

static void *gather(const struct kf_compare_request *req,
		    const struct kf_digest *d)
{
	size_t size = kf_dtype_bytes(req->dtype);
	size_t bytes = (size_t)d->window * size;
	char *all = kf_alloc((size_t)d->window_count * bytes);

	for (int64_t w = 0; w < d->window_count; w++)
		memcpy(all + (size_t)w * bytes, (const char *)req->got +
		       (size_t)d->at[w] * size, bytes);
	return all;
}

static void compare_windows(const struct kf_compare_request *req,
			    const struct kf_digest *d, bool by_kernelbench,
			    struct kf_compare *out)
{
	struct kf_compare_request windows = *req;
	void *got = gather(req, d);

	windows.got = got;
	windows.rank = 1;
	windows.shape[0] = d->window_count * d->window;
	if (by_kernelbench)
		kf_compare_kernelbench(&windows, out);
	else
		kf_compare_run(&windows, out);
	free(got);
	for (size_t i = 0; i < out->worst_count; i++)
		out->worst[i].index = kf_digest_place(d, out->worst[i].index);
	out->pattern[0] = '\0';		/* of places in windows: no use */
	out->map = (struct kf_error_map) { 0 };
	out->numel = numel_of(req);
}

/* --- sums ----------------------------------------------------------------- */

typedef double v_pair __attribute__((vector_size(2 * sizeof(double))));

/* What one thread has found. */
struct part {
	double ratio_max;	/* of what is allowed */
	int64_t bad_count, first_bad;
	int64_t unwritten_count, nonfinite_count;
};

struct summing {
	const struct kf_compare_request *req;
	const struct kf_digest *digest;
	int64_t numel;
	double *sign;		/* owned; [KF_CHUNK_SUMS][KF_CHUNK] */
	struct part *part;	/* owned */
};

/* One chunk as double, filled up with zeros. A loop of fixed length is made of
 * vectors. */
static void read_chunk(const struct summing *s, int64_t chunk,
		       double value[KF_CHUNK])
{
	int64_t first = chunk * KF_CHUNK, left = s->numel - first;
	int count = left < KF_CHUNK ? (int)left : KF_CHUNK;
	const float *single = (const float *)s->req->got + first;

	if (s->req->dtype == KF_F32 && count == KF_CHUNK) {
		for (int i = 0; i < KF_CHUNK; i++)
			value[i] = (double)single[i];
		return;
	}
	for (int i = 0; i < count; i++)
		value[i] = kf_element(s->req->dtype, s->req->got, first + i);
	for (int i = count; i < KF_CHUNK; i++)
		value[i] = 0;
}

static inline void add(v_pair *sum, const double *value, const double *sign)
{
	v_pair v, s;

	memcpy(&v, value, sizeof(v));
	memcpy(&s, sign, sizeof(s));
	*sum += v * s;
}

/* Two sums in one go, each in four lanes: elements are read half as often, and
 * an addition seldom waits for the one before. */
static void two_sums(const double value[KF_CHUNK], const double *sign,
		     double sum[2])
{
	const double *other = sign + KF_CHUNK;
	v_pair one[2] = { { 0 } }, two[2] = { { 0 } };

	for (int i = 0; i < KF_CHUNK; i += 4) {
		add(&one[0], value + i, sign + i);
		add(&one[1], value + i + 2, sign + i + 2);
		add(&two[0], value + i, other + i);
		add(&two[1], value + i + 2, other + i + 2);
	}
	one[0] += one[1];
	two[0] += two[1];
	sum[0] = one[0][0] + one[0][1];
	sum[1] = two[0][0] + two[0][1];
}

/* How much of what is allowed the worst sum is off; infinite where nothing is,
 * or where there is no number. */
static double ratio_of(const struct summing *s, int64_t chunk,
		       const double *value)
{
	const struct kf_float_facts *f = kf_float_facts(s->req->dtype);
	double allowed = FACTOR * s->req->limit * s->digest->scale[chunk];
	double sum[KF_CHUNK_SUMS], worst = 0;

	for (int k = 0; k < KF_CHUNK_SUMS; k += 2)
		two_sums(value, s->sign + k * KF_CHUNK, sum + k);
	if (f)	/* denormals may be flushed */
		allowed += KF_CHUNK * f->flushed;
	for (int k = 0; k < KF_CHUNK_SUMS; k++) {
		double away = fabs(sum[k] -
			s->digest->sums[chunk * KF_CHUNK_SUMS + k]);

		if (away == 0)
			continue;
		if (!(away <= allowed))
			return isfinite(away) && allowed > 0 ? away / allowed :
				(double)INFINITY;
		worst = fmax(worst, away / allowed);
	}
	return worst;
}

static void look_at_bad(const struct summing *s, int64_t chunk,
			const double *value, struct part *part)
{
	int64_t first = chunk * KF_CHUNK;

	if (!part->bad_count++)
		part->first_bad = chunk;
	for (int64_t i = 0; i < KF_CHUNK && first + i < s->numel; i++)
		if (kf_compare_is_poison(s->req->dtype, s->req->got, first + i,
					 s->req->poison))
			part->unwritten_count++;
		else if (!isfinite(value[i]))
			part->nonfinite_count++;
}

static void sum_part(void *arg, size_t number)
{
	const struct summing *s = arg;
	struct part *part = &s->part[number];
	int64_t chunk = (int64_t)number * PART;
	double value[KF_CHUNK];

	for (int i = 0; i < PART && chunk < s->digest->chunk_count;
	     i++, chunk++) {
		double ratio;

		read_chunk(s, chunk, value);
		ratio = ratio_of(s, chunk, value);
		part->ratio_max = fmax(part->ratio_max, ratio);
		if (ratio > 1)
			look_at_bad(s, chunk, value, part);
	}
}

static void say_where(int64_t first, int64_t bad, const struct summing *s,
		      char out[KF_COMPARE_PATTERN])
{
	int64_t end = (first + 1) * KF_CHUNK;

	snprintf(out, KF_COMPARE_PATTERN, "%lld of %lld stretches of %d "
		 "consecutive elements do not add up to the reference's, the "
		 "first from flat index %lld to %lld", (long long)bad,
		 (long long)s->digest->chunk_count, KF_CHUNK,
		 (long long)(first * KF_CHUNK),
		 (long long)((end < s->numel ? end : s->numel) - 1));
}

static void take_parts(const struct summing *s, size_t count,
		       struct kf_compare *out)
{
	int64_t bad = 0, first = 0;

	for (size_t i = 0; i < count; i++) {
		const struct part *p = &s->part[i];

		if (p->bad_count && !bad)
			first = p->first_bad;
		bad += p->bad_count;
		out->rms_max = fmax(out->rms_max, p->ratio_max);
		out->unwritten_count += p->unwritten_count;
		out->nonfinite_count += p->nonfinite_count;
		out->wrong_count += p->unwritten_count + p->nonfinite_count;
	}
	out->block_count += s->digest->chunk_count;
	out->block_bad_count += bad;
	if (bad)
		say_where(first, bad, s, out->pattern);
}

static void compare_sums(const struct kf_compare_request *req,
			 const struct kf_digest *d, struct kf_compare *out)
{
	size_t count = (size_t)((d->chunk_count + PART - 1) / PART);
	struct summing s = {
		.req = req, .digest = d, .numel = numel_of(req),
		.sign = kf_alloc(KF_CHUNK_SUMS * KF_CHUNK * sizeof(double)),
		.part = kf_alloc((count + 1) * sizeof(s.part[0])),
	};

	for (int i = 0; i < KF_CHUNK_SUMS * KF_CHUNK; i++)
		s.sign[i] = d->signs[i];
	kf_parallel(count, sum_part, &s);
	take_parts(&s, count, out);
	free(s.part);
	free(s.sign);
}

void kf_digest_compare(const struct kf_compare_request *req,
		       const struct kf_digest *d, bool by_kernelbench,
		       struct kf_compare *out)
{
	compare_windows(req, d, by_kernelbench, out);
	if (by_kernelbench)
		return;
	compare_sums(req, d, out);
	out->end = kf_compare_end_of(req, out);
}
