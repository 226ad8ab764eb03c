#include "evaluate/digest.h"

#include <math.h>

#include "base/parallel.h"
#include "evaluate/compare_block.h"

#define FACTOR 8.0		/* of T, for sums */
#define TIE_CHUNKS 64		/* one in so many may have ties */
#define TIE_SCALES 16.0		/* which make a sum so many scales wrong */
#define PART 128		/* chunks for one thread */

static int64_t numel_of(const struct kf_compare_request *req)
{
	return kf_compare_numel(req->rank, req->shape);
}

static int64_t in_windows(const struct kf_digest *d)
{
	return d->window_count * d->window;
}

int64_t kf_expect_count(const struct kf_tensor_info *info,
			const struct kf_digest *digest)
{
	return digest ? in_windows(digest) : info->numel;
}

int64_t kf_digest_place(const struct kf_digest *digest, int64_t k)
{
	return digest ? digest->at[k / digest->window] + k % digest->window : k;
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

static bool is_whole(const struct kf_compare_request *req,
		     const struct kf_digest *d)
{
	return in_windows(d) >= numel_of(req);
}

/* Of ties as many as are usual, but a row. */
static int64_t ties_in_windows(const struct kf_compare_request *req,
			       const struct kf_digest *d)
{
	int64_t most = in_windows(d) / KF_TIES;
	int64_t row = kf_compare_row(req->rank, req->shape);

	most = most > row ? most : row;
	return most < req->ties ? most : req->ties;
}

static void compare_windows(const struct kf_compare_request *req,
			    const struct kf_digest *d, bool by_kernelbench,
			    struct kf_compare *out)
{
	struct kf_compare_request windows = *req;
	void *got = gather(req, d);

	windows.got = got;
	windows.ties = ties_in_windows(req, d);
	windows.rank = 1;
	windows.shape[0] = in_windows(d);
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

/* What every vector unit has. They go in and out by pointer, for how they are
 * passed depends on the processor. */
typedef double v_double __attribute__((vector_size(2 * sizeof(double))));
typedef float v_float __attribute__((vector_size(2 * sizeof(float))));

_Static_assert(KF_CHUNK_SUMS == 4, "sums are written out");

/* What one thread has found. */
struct part {
	double ratio_max;	/* of what is allowed */
	int64_t bad_count, first_bad, tie_count;
	int64_t unwritten_count, nonfinite_count;
};

struct summing {
	const struct kf_compare_request *req;
	const struct kf_digest *digest;
	int64_t numel;
	double *sign;		/* owned; [KF_CHUNK_SUMS][KF_CHUNK] */
	struct part *part;	/* owned */
};

void kf_digest_read(enum kf_dtype dtype, const void *data, int64_t numel,
		    int64_t chunk, double value[KF_CHUNK])
{
	int64_t first = chunk * KF_CHUNK, left = numel - first;
	int count = left < KF_CHUNK ? (int)left : KF_CHUNK;

	for (int i = 0; i < count; i++)
		value[i] = kf_element(dtype, data, first + i);
	for (int i = count; i < KF_CHUNK; i++)
		value[i] = 0;
}

static inline void take(const void *chunk, bool single, int i, v_double *out)
{
	v_float narrow;

	if (single) {
		memcpy(&narrow, (const float *)chunk + i, sizeof(narrow));
		*out = __builtin_convertvector(narrow, v_double);
	} else {
		memcpy(out, (const double *)chunk + i, sizeof(*out));
	}
}

static inline void add(const v_double *value, const double *sign,
		       v_double *sum)
{
	v_double s;

	memcpy(&s, sign, sizeof(s));
	*sum += *value * s;
}

/* Of elements that are float if single, else double. All sums in one go, each
 * in two vectors, so that no addition waits for the one before. */
static inline void add_up(const void *chunk, bool single, const double *sign,
			  double sum[KF_CHUNK_SUMS])
{
	const double *a = sign, *b = a + KF_CHUNK, *c = b + KF_CHUNK;
	const double *d = c + KF_CHUNK;
	v_double even[KF_CHUNK_SUMS] = { { 0 } };
	v_double odd[KF_CHUNK_SUMS] = { { 0 } }, v, w;

	for (int i = 0; i < KF_CHUNK; i += 4) {
		take(chunk, single, i, &v);
		take(chunk, single, i + 2, &w);
		add(&v, a + i, &even[0]);
		add(&w, a + i + 2, &odd[0]);
		add(&v, b + i, &even[1]);
		add(&w, b + i + 2, &odd[1]);
		add(&v, c + i, &even[2]);
		add(&w, c + i + 2, &odd[2]);
		add(&v, d + i, &even[3]);
		add(&w, d + i + 2, &odd[3]);
	}
	for (int i = 0; i < KF_CHUNK_SUMS; i++) {
		even[i] += odd[i];
		sum[i] = even[i][0] + even[i][1];
	}
}

void kf_digest_sum(const double value[KF_CHUNK], const double *sign,
		   double sum[KF_CHUNK_SUMS])
{
	add_up(value, false, sign, sum);
}

static void sum_chunk(const struct summing *s, int64_t chunk,
		      double sum[KF_CHUNK_SUMS])
{
	double value[KF_CHUNK];

	if (s->req->sums) {
		memcpy(sum, s->req->sums + chunk * KF_CHUNK_SUMS,
		       KF_CHUNK_SUMS * sizeof(sum[0]));
		return;
	}
	if (s->req->dtype == KF_F32 && (chunk + 1) * KF_CHUNK <= s->numel) {
		add_up((const float *)s->req->got + chunk * KF_CHUNK, true,
		       s->sign, sum);
		return;
	}
	kf_digest_read(s->req->dtype, s->req->got, s->numel, chunk, value);
	kf_digest_sum(value, s->sign, sum);
}

/* How much of what is allowed the worst sum is off; infinite where nothing is,
 * or where there is no number. */
static double ratio_of(const struct summing *s, int64_t chunk,
		       const double sum[KF_CHUNK_SUMS])
{
	const struct kf_float_facts *f = kf_float_facts(s->req->dtype);
	double allowed = FACTOR * s->req->limit * s->digest->scale[chunk];
	double worst = 0;

	if (f)	/* denormals may be flushed */
		allowed += KF_CHUNK * f->flushed;
	for (int k = 0; k < KF_CHUNK_SUMS; k++) {
		double away = fabs(sum[k] -
			s->digest->sums[chunk * KF_CHUNK_SUMS + k]);

		if (away == 0)
			continue;
		if (!isfinite(away) || !(allowed > 0))
			return (double)INFINITY;
		worst = fmax(worst, away / allowed);
	}
	return worst;
}

static void look_at_bad(const struct summing *s, int64_t chunk,
			struct part *part)
{
	int64_t first = chunk * KF_CHUNK;
	double value[KF_CHUNK];

	if (!part->bad_count++)
		part->first_bad = chunk;
	if (s->req->sums)
		return;
	kf_digest_read(s->req->dtype, s->req->got, s->numel, chunk, value);
	for (int64_t i = 0; i < KF_CHUNK && first + i < s->numel; i++)
		if (kf_compare_is_poison(s->req->dtype, s->req->got, first + i,
					 s->req->poison))
			part->unwritten_count++;
		else if (!isfinite(value[i]))
			part->nonfinite_count++;
}

/* A right element of a half type may look like the pattern. */
static bool is_unwritten(const struct summing *s, int64_t chunk)
{
	int64_t i = chunk * KF_CHUNK, end = i + KF_CHUNK, count = 0;
	int64_t few = kf_dtype_bytes(s->req->dtype) < 4 ? KF_CHUNK / 20 : 0;

	for (end = end < s->numel ? end : s->numel; i < end; i++)
		count += kf_compare_is_poison(s->req->dtype, s->req->got, i,
					      s->req->poison);
	return count > few;
}

/* A device's sums are of float32, whose patterns are a NaN and 2.4e35: what is
 * unwritten makes them far too large, or none. */
static bool has_ties(const struct summing *s, int64_t chunk, double ratio)
{
	return s->req->ties && ratio * FACTOR * s->req->limit <= TIE_SCALES &&
		(s->req->sums || !is_unwritten(s, chunk));
}

static void sum_part(void *arg, size_t number)
{
	const struct summing *s = arg;
	struct part *part = &s->part[number];
	int64_t chunk = (int64_t)number * PART;

	for (int i = 0; i < PART && chunk < s->digest->chunk_count;
	     i++, chunk++) {
		double sum[KF_CHUNK_SUMS], ratio;

		sum_chunk(s, chunk, sum);
		ratio = ratio_of(s, chunk, sum);
		if (ratio > 1 && has_ties(s, chunk, ratio)) {
			part->tie_count++;
			continue;
		}
		part->ratio_max = fmax(part->ratio_max, ratio);
		if (ratio > 1)
			look_at_bad(s, chunk, part);
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

/* Those that windows have are among them. */
static void take_marked(int64_t unwritten, int64_t nonfinite,
			struct kf_compare *out)
{
	out->wrong_count += unwritten - out->unwritten_count;
	out->wrong_count += nonfinite - out->nonfinite_count;
	out->unwritten_count = unwritten;
	out->nonfinite_count = nonfinite;
}

static void take_parts(const struct summing *s, size_t count,
		       struct kf_compare *out)
{
	int64_t bad = 0, first = 0, unwritten = 0, nonfinite = 0;

	for (size_t i = 0; i < count; i++) {
		const struct part *p = &s->part[i];

		if (p->bad_count && !bad)
			first = p->first_bad;
		bad += p->bad_count;
		out->rms_max = fmax(out->rms_max, p->ratio_max);
		unwritten += p->unwritten_count;
		nonfinite += p->nonfinite_count;
		out->tie_chunk_count += p->tie_count;
	}
	if (!s->req->sums)
		take_marked(unwritten, nonfinite, out);
	out->block_count += s->digest->chunk_count;
	out->block_bad_count += bad;
	if (bad)
		say_where(first, bad, s, out->pattern);
}

double *kf_digest_signs(const int8_t *signs)
{
	const int count = KF_CHUNK_SUMS * KF_CHUNK;
	double *sign = kf_alloc((size_t)count * sizeof(sign[0]));

	for (int i = 0; i < count; i++)
		sign[i] = signs[i];
	return sign;
}

static void compare_sums(const struct kf_compare_request *req,
			 const struct kf_digest *d, struct kf_compare *out)
{
	size_t count = (size_t)((d->chunk_count + PART - 1) / PART);
	struct summing s = {
		.req = req, .digest = d, .numel = numel_of(req),
		.sign = kf_digest_signs(d->signs),
		.part = kf_alloc((count + 1) * sizeof(s.part[0])),
	};

	kf_parallel(count, sum_part, &s);
	take_parts(&s, count, out);
	free(s.part);
	free(s.sign);
}

static void compare_all(const struct kf_compare_request *req,
			const struct kf_digest *d, struct kf_compare *out)
{
	compare_windows(req, d, false, out);
	compare_sums(req, d, out);
	out->end = kf_compare_end_of(req, out);
}

/* Where all elements are in windows, these say what is off. */
static bool too_many_ties(const struct kf_compare_request *req,
			  const struct kf_digest *d,
			  const struct kf_compare *out)
{
	return !is_whole(req, d) &&
		out->tie_chunk_count > d->chunk_count / TIE_CHUNKS;
}

void kf_digest_compare(const struct kf_compare_request *req,
		       const struct kf_digest *d, bool by_kernelbench,
		       struct kf_compare *out)
{
	struct kf_compare_request strict = *req;

	if (by_kernelbench) {
		compare_windows(req, d, true, out);
		return;
	}
	compare_all(req, d, out);
	if (!out->tie_count && !out->tie_chunk_count)
		return;
	strict.ties = 0;
	if (out->end || too_many_ties(req, d, out))
		compare_all(&strict, d, out);
}
