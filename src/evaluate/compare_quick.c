/*
 * compare_quick.c - the same verdict for blocks that are plainly right, at the
 * speed of memory.
 *
 * Outputs and reference are read once, row by row across a band of blocks: from
 * each element come its size and its error, as float, and the block's scale. A
 * second look at those, in cache, gives q. Whatever is unusual (too far off,
 * NaN, overflow) makes a sum that is not small: then the block is in doubt and
 * kf_compare_block decides.
 *
 * It works on vectors of four, which every vector unit has, and is compiled
 * once more for processors with AVX2. Vectors of eight or sixteen and AVX-512
 * brought nothing, for memory is the limit. The variants differ in nothing but
 * rounding of the figures, and a verdict never hangs on that.
 */
#include "evaluate/compare_block.h"

#include <float.h>
#include <math.h>

#define LANES 4
#define CHUNK 32

#define KF_VECTOR(type) __attribute__((vector_size(LANES * sizeof(type))))
typedef float v_float KF_VECTOR(float);
typedef int32_t v_int KF_VECTOR(int32_t);
typedef double v_double KF_VECTOR(double);
typedef int64_t v_long KF_VECTOR(int64_t);

/* Becomes part of each variant. Vectors go in and out by pointer, for how they
 * are passed depends on the processor. */
#define PART static inline __attribute__((always_inline))

/* Element after element of one block, in chunks; short chunks are filled up. */
struct strip {
	float size[KF_BLOCK_ELEMENTS], error[KF_BLOCK_ELEMENTS];
	v_double energy;
};

/* One chunk of a row as it comes from memory. */
struct chunk {
	const float *got, *react;	/* react: NULL where typical stands in */
	const double *exact;		/* one of these two; the other is NULL */
	const float *expect;
	float got_room[CHUNK], expect_room[CHUNK], react_room[CHUNK];
	double exact_room[CHUNK];
	int count;
};

/* *a, or *b unless *a is larger: also where one is NaN. */
PART void take_larger(v_float *a, const v_float *b)
{
	v_int larger = *a > *b;

	*a = (v_float)(((v_int)*a & larger) | ((v_int)*b & ~larger));
}

/* --- reading ---------------------------------------------------------------*/

/* A short row goes into room, with zeros behind it. */
PART void fill(const float **data, int count, float *room)
{
	for (int i = 0; i < CHUNK; i++)
		room[i] = i < count ? (*data)[i] : 0;
	*data = room;
}

PART void fill_chunk(struct chunk *chunk, float typical_react)
{
	const int count = chunk->count;

	if (!chunk->react) {
		for (int i = 0; i < count; i++)
			chunk->react_room[i] = typical_react;
		chunk->react = chunk->react_room;
	}
	fill(&chunk->react, count, chunk->react_room);
	fill(&chunk->got, count, chunk->got_room);
	if (chunk->expect) {
		fill(&chunk->expect, count, chunk->expect_room);
		return;
	}
	for (int i = 0; i < CHUNK; i++)
		chunk->exact_room[i] = i < count ? chunk->exact[i] : 0;
	chunk->exact = chunk->exact_room;
}

PART void load(const struct kf_compare_request *req, int64_t at, int count,
	       float typical_react, struct chunk *chunk)
{
	const bool single = req->dtype == KF_F32;

	chunk->count = count;
	chunk->react = req->react ? req->react + at : NULL;
	chunk->got = single ? (const float *)req->got + at :
		kf_row_float(req->dtype, req->got, at, count, chunk->got_room);
	chunk->exact = req->exact ? req->exact + at : NULL;
	chunk->expect = req->exact ? NULL :
		single ? (const float *)req->expect + at :
		kf_row_float(req->dtype, req->expect, at, count,
			     chunk->expect_room);
	if (count < CHUNK)
		fill_chunk(chunk, typical_react);
}

/* LANES elements, from i: their size and their error. */
PART void take_some(const struct chunk *chunk, int i, v_float *size,
		    v_float *error)
{
	const v_int no_sign = (v_int) { 0 } + 0x7fffffff;
	const v_long no_sign_wide = (v_long) { 0 } + INT64_MAX;
	v_float c, y;
	v_double exact;

	memcpy(&c, chunk->got + i, sizeof(c));
	if (chunk->exact) {
		memcpy(&exact, chunk->exact + i, sizeof(exact));
		*error = __builtin_convertvector((v_double)((v_long)(
			__builtin_convertvector(c, v_double) - exact) &
			no_sign_wide), v_float);
		y = __builtin_convertvector(exact, v_float);
	} else {
		memcpy(&y, chunk->expect + i, sizeof(y));
		*error = (v_float)((v_int)(c - y) & no_sign);
	}
	*size = (v_float)((v_int)y & no_sign);
}

PART void take_chunk(const struct chunk *chunk, float typical_react,
		     float *size_out, float *error_out, v_double *energy)
{
	const v_float typical = (v_float) { 0 } + typical_react;

	for (int i = 0; i < CHUNK; i += LANES) {
		v_float size, error, react = typical;
		v_double wide;

		take_some(chunk, i, &size, &error);
		if (chunk->react)
			memcpy(&react, chunk->react + i, sizeof(react));
		take_larger(&size, &react);
		wide = __builtin_convertvector(size, v_double);
		*energy += wide * wide;
		memcpy(size_out + i, &size, sizeof(size));
		memcpy(error_out + i, &error, sizeof(error));
	}
	for (int i = chunk->count; i < CHUNK; i++)
		size_out[i] = -1;	/* below every floor: never counted */
}

PART float typical_of(const float *list, const struct kf_block *block)
{
	return list ? list[block->index] : 0;
}

/* Row by row across all blocks of the band: memory is read in long runs. */
PART void take_band(const struct kf_compare_request *req,
		    const struct kf_block *block, int count,
		    struct strip *strip)
{
	const struct kf_compare_typical *t = req->typical;
	const float *react = t ? t->react_rms : NULL;
	struct chunk chunk;

	for (int r = 0; r < block[0].high; r++)
		for (int b = 0; b < count; b++)
			for (int k = 0; k < block[b].wide; k += CHUNK) {
				int64_t at = block[b].offset +
					r * block[b].stride + k;
				int n = block[b].wide - k, slot = r * CHUNK + k;

				float g = typical_of(react, &block[b]);

				load(req, at, n < CHUNK ? n : CHUNK, g, &chunk);
				take_chunk(&chunk, g, strip[b].size + slot,
					   strip[b].error + slot,
					   &strip[b].energy);
			}
}

/* --- judging ---------------------------------------------------------------*/

struct sums { v_float q_max, error_max, squares, counted; };

/* Everything that a block's elements have in common. */
struct measure { float floor_size, sigma_least, limit_inverse, noise_factor; };

/* A chunk's second look; noise: NULL where it is in sigma_least. */
PART void add_sums(const float *sizes, const float *errors, const float *noise,
		   const struct measure *m, struct sums *sums)
{
	const v_float one = (v_float) { 0 } + 1;
	const v_float least = (v_float) { 0 } + m->sigma_least;

	for (int i = 0; i < CHUNK; i += LANES) {
		v_float size, error, sigma = least, q, counts;

		memcpy(&size, sizes + i, sizeof(size));
		memcpy(&error, errors + i, sizeof(error));
		if (noise) {
			memcpy(&sigma, noise + i, sizeof(sigma));
			/* NaN and infinity count as none. */
			sigma = (v_float)((v_int)(sigma * m->noise_factor) &
				     (sigma <= FLT_MAX));
			take_larger(&sigma, &least);
		}
		counts = (v_float)((v_int)one & (size >= m->floor_size));
		take_larger(&size, &sigma);
		q = error * m->limit_inverse / size;
		sums->counted += counts;
		/* NaN and infinity survive a count of 0. */
		sums->squares += q * q * counts;
		take_larger(&q, &sums->q_max);
		sums->q_max = q;
		take_larger(&error, &sums->error_max);
		sums->error_max = error;
	}
}

PART void judge_strip(const struct kf_compare_request *req,
		      const struct kf_block *block, const struct strip *strip,
		      const struct measure *m, struct sums *sums)
{
	for (int r = 0; r < block->high; r++)
		for (int k = 0; k < block->wide; k += CHUNK) {
			int n = block->wide - k, slot = r * CHUNK + k;
			const float *noise = NULL;
			float room[CHUNK];

			if (req->noise)
				noise = req->noise + block->offset +
					r * block->stride + k;
			if (noise && n < CHUNK)
				fill(&noise, n, room);
			add_sums(strip->size + slot, strip->error + slot,
				 noise, m, sums);
		}
}

PART struct measure measure_of(const struct kf_compare_request *req,
			       const struct kf_block *block,
			       const struct strip *strip)
{
	const struct kf_compare_typical *t = req->typical;
	int count = block->high * block->wide;
	struct measure m = {
		.limit_inverse = (float)(1 / req->limit),
		.noise_factor = (float)(4 / req->limit),
	};
	double total = 0, noise;

	for (int k = 0; k < LANES; k++)
		total += strip->energy[k];
	m.floor_size = (float)(sqrt(total / count) / 32);
	noise = req->noise || !t ? 0 :
		4 / req->limit * (double)typical_of(t->noise_max, block);
	m.sigma_least = fmaxf(fmaxf(m.floor_size, (float)noise), FLT_MIN);
	return m;
}

/* Adds a block that is surely right to the figures; false: in doubt. */
PART bool settle(const struct measure *m, const struct sums *sums,
		 struct kf_compare *out)
{
	double q_max = 0, error_max = 0, squares = 0, counted = 0, rms;

	for (int k = 0; k < LANES; k++) {
		squares += (double)sums->squares[k];
		counted += (double)sums->counted[k];
		q_max = fmax(q_max, (double)sums->q_max[k]);
		error_max = fmax(error_max, (double)sums->error_max[k]);
	}
	rms = counted > 0 ? sqrt(squares / counted) / (1 + 15 / counted) : 0;
	/* A hair under 1: float sums must not decide a close case. A floor that
	 * is NaN would count no element. */
	if (!(m->floor_size <= FLT_MAX) || !(m->sigma_least <= FLT_MAX) ||
	    !(squares <= (double)FLT_MAX) ||
	    !(rms <= 0.9999) || !(q_max <= 15.99))
		return false;
	out->q_max = fmax(out->q_max, q_max);
	out->error_max_abs = fmax(out->error_max_abs, error_max);
	out->rms_max = fmax(out->rms_max, rms);
	return true;
}

PART uint32_t band(const struct kf_compare_request *req,
		   const struct kf_block *block, int count,
		   struct kf_compare *out)
{
	struct strip strip[KF_BAND_BLOCKS];
	uint32_t doubt = 0;

	for (int b = 0; b < count; b++)
		strip[b].energy = (v_double) { 0 };
	take_band(req, block, count, strip);
	for (int b = 0; b < count; b++) {
		struct measure m = measure_of(req, &block[b], &strip[b]);
		struct sums sums = { { 0 }, { 0 }, { 0 }, { 0 } };

		judge_strip(req, &block[b], &strip[b], &m, &sums);
		if (!settle(&m, &sums, out))
			doubt |= UINT32_C(1) << b;
	}
	return doubt;
}

/* --- for each kind of processor ------------------------------------------- */

typedef uint32_t band_fn(const struct kf_compare_request *req,
			 const struct kf_block *block, int count,
			 struct kf_compare *out);

static uint32_t band_any(const struct kf_compare_request *req,
			 const struct kf_block *block, int count,
			 struct kf_compare *out)
{
	return band(req, block, count, out);
}

static bool always(void)
{
	return true;
}

#ifdef __x86_64__
__attribute__((target("avx2")))
static uint32_t band_avx2(const struct kf_compare_request *req,
			  const struct kf_block *block, int count,
			  struct kf_compare *out)
{
	return band(req, block, count, out);
}

static bool has_avx2(void)
{
	return __builtin_cpu_supports("avx2");
}
#endif

/* Best first; the last runs everywhere. */
static const struct {
	const char *name;
	bool (*runs_here)(void);
	band_fn *band;
} variant[] = {
#ifdef __x86_64__
	{ "avx2", has_avx2, band_avx2 },
#endif
	{ "any", always, band_any },
};

const char *kf_compare_variant(unsigned number)
{
	for (size_t i = 0; i < KF_COUNT(variant); i++)
		if (variant[i].runs_here() && --number == 0)
			return variant[i].name;
	return NULL;
}

uint32_t kf_compare_band(const struct kf_compare_request *req,
			 const struct kf_block *block, int count,
			 struct kf_compare *out)
{
	unsigned skip = req->variant ? req->variant - 1 : 0;

	if (req->dtype == KF_F64)	/* float is too coarse for it */
		return (UINT32_C(1) << count) - 1;
	for (size_t i = 0; i < KF_COUNT(variant); i++)
		if (variant[i].runs_here() && skip-- == 0)
			return variant[i].band(req, block, count, out);
	return band_any(req, block, count, out);
}
