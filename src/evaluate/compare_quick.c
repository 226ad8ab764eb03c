/*
 * compare_quick.c - the same verdict for blocks that are plainly right, at the
 * speed of memory.
 *
 * Outputs and reference are read once, row by row across a band of blocks: from
 * each element come its size and its error, as float, and the block's scale. A
 * second look at those, in cache, gives q. Loops have a known length and lanes
 * that do not depend on each other, so that compilers make vector code of them.
 * Whatever is unusual (too far off, NaN, overflow) makes a sum that is not
 * small: then the block is in doubt and kf_compare_block decides.
 */
#include "evaluate/compare_block.h"

#include <float.h>
#include <math.h>

#define CHUNK 32
#define LANES 8

/* Element after element of one block, in chunks; short chunks are filled up. */
struct strip {
	float size[KF_BLOCK_ELEMENTS], error[KF_BLOCK_ELEMENTS];
	double energy[LANES];
};

/* One chunk of a row as it comes from memory. */
struct chunk {
	const float *got, *react;	/* react: NULL where typical stands in */
	const double *exact;
	float got_room[CHUNK], react_room[CHUNK];
	double exact_room[CHUNK];
	int count;
};

/* --- reading ---------------------------------------------------------------*/

static const float *floats(const float *data, int count, float *room)
{
	if (!data || count == CHUNK)
		return data;
	for (int i = 0; i < CHUNK; i++)
		room[i] = i < count ? data[i] : 0;
	return room;
}

static const double *doubles(const struct kf_compare_request *req, int64_t at,
			     int count, double *room)
{
	if (req->exact && count == CHUNK)
		return req->exact + at;
	if (req->exact)
		memcpy(room, req->exact + at, (size_t)count * sizeof(room[0]));
	else
		kf_row_double(req->dtype, req->expect, at, count, room);
	for (int i = count; i < CHUNK; i++)
		room[i] = 0;
	return room;
}

static void load(const struct kf_compare_request *req, int64_t at, int count,
		 struct chunk *chunk)
{
	chunk->count = count;
	chunk->exact = doubles(req, at, count, chunk->exact_room);
	chunk->react = floats(req->react ? req->react + at : NULL, count,
			      chunk->react_room);
	if (req->dtype == KF_F32) {
		chunk->got = floats((const float *)req->got + at, count,
				    chunk->got_room);
		return;
	}
	chunk->got = kf_row_float(req->dtype, req->got, at, count,
				  chunk->got_room);
	for (int i = count; i < CHUNK; i++)
		chunk->got_room[i] = 0;
}

static void take_chunk(const struct chunk *chunk, float typical_react,
		       float *restrict size, float *restrict error,
		       double *restrict energy)
{
	const float *restrict c = chunk->got, *restrict g = chunk->react;
	const double *restrict y = chunk->exact;
	double square[CHUNK];

	for (int i = 0; i < CHUNK; i++)
		error[i] = (float)fabs((double)c[i] - y[i]);
	for (int i = 0; i < CHUNK; i++)
		size[i] = (float)fabs(y[i]);
	if (g)
		for (int i = 0; i < CHUNK; i++)
			size[i] = size[i] > g[i] ? size[i] : g[i];
	else
		for (int i = 0; i < CHUNK; i++)
			size[i] = size[i] > typical_react ? size[i] :
				typical_react;
	for (int i = chunk->count; i < CHUNK; i++)
		size[i] = 0;
	for (int i = 0; i < CHUNK; i++)
		square[i] = (double)size[i] * (double)size[i];
	for (int i = 0; i < CHUNK; i += LANES)
		for (int k = 0; k < LANES; k++)
			energy[k] += square[i + k];
	for (int i = chunk->count; i < CHUNK; i++)
		size[i] = -1;	/* below every floor: never counted */
}

static float typical_of(const float *list, const struct kf_block *block)
{
	return list ? list[block->index] : 0;
}

/* Row by row across all blocks of the band: memory is read in long runs. */
static void take_band(const struct kf_compare_request *req,
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

				load(req, at, n < CHUNK ? n : CHUNK, &chunk);
				take_chunk(&chunk, typical_of(react, &block[b]),
					   strip[b].size + slot,
					   strip[b].error + slot,
					   strip[b].energy);
			}
}

/* --- judging ---------------------------------------------------------------*/

struct sums {
	float q_max[LANES], error_max[LANES], squares[LANES], counted[LANES];
};

/* Everything that a block's elements have in common. */
struct measure { float floor_size, sigma_least, limit_inverse; };

static void add_sums(const float *restrict size, const float *restrict error,
		     const float *restrict sigma_least,
		     const struct measure *m, struct sums *restrict sums)
{
	const float floor_size = m->floor_size, inverse = m->limit_inverse;
	float q[CHUNK], counts[CHUNK];

	for (int i = 0; i < CHUNK; i++) {
		float sigma = size[i] > sigma_least[i] ? size[i] :
			sigma_least[i];

		q[i] = error[i] * inverse / sigma;
	}
	for (int i = 0; i < CHUNK; i++)
		counts[i] = size[i] >= floor_size ? 1.0f : 0.0f;
	for (int i = 0; i < CHUNK; i += LANES) {
		for (int k = 0; k < LANES; k++)
			sums->q_max[k] = q[i + k] > sums->q_max[k] ?
				q[i + k] : sums->q_max[k];
		for (int k = 0; k < LANES; k++)
			sums->error_max[k] = error[i + k] >
				sums->error_max[k] ? error[i + k] :
				sums->error_max[k];
		for (int k = 0; k < LANES; k++)
			sums->counted[k] += counts[i + k];
		/* NaN and infinity survive a count of 0. */
		for (int k = 0; k < LANES; k++)
			sums->squares[k] += q[i + k] * q[i + k] *
				counts[i + k];
	}
}

/* The least scale of each element of a chunk, where the noise is known. */
static void least_of_noise(const float *noise, int count, float factor,
			   float least, float *restrict out)
{
	float room[CHUNK];
	const float *restrict e = floats(noise, count, room);

	for (int i = 0; i < CHUNK; i++)
		out[i] = e[i] <= FLT_MAX ? e[i] * factor : 0;
	for (int i = 0; i < CHUNK; i++)
		out[i] = out[i] > least ? out[i] : least;
}

static void judge_strip(const struct kf_compare_request *req,
			const struct kf_block *block,
			const struct strip *strip, const struct measure *m,
			struct sums *sums)
{
	const float factor = (float)(4 / req->limit);
	float least[CHUNK];

	for (int i = 0; i < CHUNK; i++)
		least[i] = m->sigma_least;
	for (int r = 0; r < block->high; r++)
		for (int k = 0; k < block->wide; k += CHUNK) {
			int n = block->wide - k, slot = r * CHUNK + k;
			int64_t at = block->offset + r * block->stride + k;

			if (req->noise)
				least_of_noise(req->noise + at,
					       n < CHUNK ? n : CHUNK,
					       factor, m->sigma_least, least);
			add_sums(strip->size + slot, strip->error + slot,
				 least, m, sums);
		}
}

static struct measure measure_of(const struct kf_compare_request *req,
				 const struct kf_block *block,
				 const struct strip *strip)
{
	const struct kf_compare_typical *t = req->typical;
	int count = block->high * block->wide;
	struct measure m = { .limit_inverse = (float)(1 / req->limit) };
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
static bool settle(const struct measure *m, const struct sums *sums,
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
	/* A hair under 1: float sums must not decide a close case. */
	if (!(m->sigma_least <= FLT_MAX) || !(squares <= (double)FLT_MAX) ||
	    !(rms <= 0.9999) || !(q_max <= 15.99))
		return false;
	out->q_max = fmax(out->q_max, q_max);
	out->error_max_abs = fmax(out->error_max_abs, error_max);
	out->rms_max = fmax(out->rms_max, rms);
	return true;
}

uint32_t kf_compare_band(const struct kf_compare_request *req,
			 const struct kf_block *block, int count,
			 struct kf_compare *out)
{
	struct strip strip[KF_BAND_BLOCKS];
	uint32_t doubt = 0;

	if (req->dtype == KF_F64)	/* float is too coarse for it */
		return (UINT32_C(1) << count) - 1;
	for (int b = 0; b < count; b++)
		memset(strip[b].energy, 0, sizeof(strip[b].energy));
	take_band(req, block, count, strip);
	for (int b = 0; b < count; b++) {
		struct measure m = measure_of(req, &block[b], &strip[b]);
		struct sums sums = { 0 };

		judge_strip(req, &block[b], &strip[b], &m, &sums);
		if (!settle(&m, &sums, out))
			doubt |= UINT32_C(1) << b;
	}
	return doubt;
}
