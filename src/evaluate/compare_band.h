/*
 * compare_band.h - the same verdict for blocks that are plainly right, at the
 * speed of memory. It becomes part of each variant: compare_quick.c and
 * compare_avx2.c alone include it.
 *
 * Outputs and reference are read once, row by row across a band of blocks: from
 * each element come its size and its error, as float, and the block's scale. A
 * second look at those, in cache, gives q. Whatever is unusual (too far off,
 * NaN, overflow) makes a sum that is not small: then the block is in doubt and
 * kf_compare_block decides.
 *
 * Reading waits for memory, for the rows of a block lie far apart and the
 * processor does not guess where the next one is: it is told AHEAD rows before.
 */
#ifndef KF_EVALUATE_COMPARE_BAND_H
#define KF_EVALUATE_COMPARE_BAND_H

#include "evaluate/compare_block.h"

#include <float.h>
#include <math.h>

#ifndef KF_LANES
#define KF_LANES 4	/* floats of a vector, which every vector unit has */
#endif
#define CHUNK 32
#define AHEAD 2
#define CACHE_LINE 64

#define KF_VECTOR(type, lanes) \
	__attribute__((vector_size((lanes) * sizeof(type))))
typedef float v_float KF_VECTOR(float, KF_LANES);
typedef int32_t v_int KF_VECTOR(int32_t, KF_LANES);
typedef double v_double KF_VECTOR(double, KF_LANES);
typedef int64_t v_long KF_VECTOR(int64_t, KF_LANES);
/* Half of a v_double: as large as a register, so that sums stay in one. */
typedef double v_half KF_VECTOR(double, KF_LANES / 2);

/* Vectors go in and out by pointer, for how they are passed depends on the
 * processor. */
#define PART static inline __attribute__((always_inline))

/* Element after element of one block, in chunks; short chunks are filled up. */
struct strip {
	float size[KF_BLOCK_ELEMENTS], error[KF_BLOCK_ELEMENTS];
	v_half energy;
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

/* --- asking ahead ----------------------------------------------------------*/

/* Part of a row that is read soon; data may be NULL. */
PART void fetch(const void *data, int64_t at, int count, size_t size)
{
	const char *from = data;

	if (!data)
		return;
	from += (size_t)at * size;
	for (size_t i = 0; i < (size_t)count * size; i += CACHE_LINE)
		__builtin_prefetch(from + i);
}

/* What load() reads of a row. */
PART void fetch_row(const struct kf_compare_request *req, size_t size,
		    int64_t at, int count)
{
	fetch(req->got, at, count, size);
	fetch(req->exact, at, count, sizeof(req->exact[0]));
	fetch(req->exact ? NULL : req->expect, at, count, size);
	fetch(req->react, at, count, sizeof(req->react[0]));
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

/* KF_LANES elements, from i: their size and their error. */
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
		     float *size_out, float *error_out, v_half *energy)
{
	const v_float typical = (v_float) { 0 } + typical_react;
	v_half low = *energy, high = { 0 };

	for (int i = 0; i < CHUNK; i += KF_LANES) {
		v_float size, error, react = typical;
		v_double wide;
		v_half half[2];

		take_some(chunk, i, &size, &error);
		if (chunk->react)
			memcpy(&react, chunk->react + i, sizeof(react));
		take_larger(&size, &react);
		wide = __builtin_convertvector(size, v_double);
		wide *= wide;
		memcpy(half, &wide, sizeof(half));
		low += half[0];
		high += half[1];
		memcpy(size_out + i, &size, sizeof(size));
		memcpy(error_out + i, &error, sizeof(error));
	}
	*energy = low + high;
	for (int i = chunk->count; i < CHUNK; i++)
		size_out[i] = -1;	/* below every floor: never counted */
}

PART float typical_of(const float *list, const struct kf_block *block)
{
	return list ? list[block->index] : 0;
}

/* One row of one block. */
PART void take_row(const struct kf_compare_request *req,
		   const struct kf_block *block, int row, size_t size,
		   float typical_react, struct strip *strip)
{
	struct chunk chunk;

	for (int k = 0; k < block->wide; k += CHUNK) {
		int64_t at = block->offset + row * block->stride + k;
		int n = block->wide - k, slot = row * CHUNK + k;

		n = n < CHUNK ? n : CHUNK;
		if (row + AHEAD < block->high)
			fetch_row(req, size, at + AHEAD * block->stride, n);
		fetch(req->noise, at, n, sizeof(req->noise[0]));
		load(req, at, n, typical_react, &chunk);
		take_chunk(&chunk, typical_react, strip->size + slot,
			   strip->error + slot, &strip->energy);
	}
}

/* Row by row across all blocks of the band: memory is read in long runs. */
PART void take_band(const struct kf_compare_request *req,
		    const struct kf_block *block, int count,
		    struct strip *strip)
{
	const struct kf_compare_typical *t = req->typical;
	const float *react = t ? t->react_rms : NULL;
	const size_t size = kf_dtype_bytes(req->dtype);

	for (int r = 0; r < block[0].high; r++)
		for (int b = 0; b < count; b++)
			take_row(req, &block[b], r, size,
				 typical_of(react, &block[b]), &strip[b]);
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

	for (int i = 0; i < CHUNK; i += KF_LANES) {
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

	for (int k = 0; k < KF_LANES / 2; k++)
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

	for (int k = 0; k < KF_LANES; k++) {
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
		strip[b].energy = (v_half) { 0 };
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

#endif
