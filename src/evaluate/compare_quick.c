/*
 * compare_quick.c - the same verdict for blocks that are plainly right, at the
 * speed of memory.
 *
 * A band of up to 512 columns is read twice: once for the scale of its blocks,
 * once (now from cache) for the errors. Loops run over lanes that do not
 * depend on each other, so that compilers make vector code of them. Anything
 * unusual (a value too far off, NaN, overflow) ends in "not sure", and
 * kf_compare_block decides.
 */
#include "evaluate/compare_block.h"

#include <float.h>
#include <math.h>

/* Every loop below runs over exactly this many elements: a known length lets
 * compilers make vector code of it at any level of optimisation. */
#define CHUNK 32
#define LANES 8

/* One chunk of a row. Arguments point into the data where it has the type
 * already, else into the rooms; short chunks are copied and filled up. */
struct chunk {
	int count;		/* elements that are the block's */
	const float *got, *react, *noise;
	const double *exact;
	float got_room[CHUNK], react_room[CHUNK], noise_room[CHUNK];
	double exact_room[CHUNK];
};

struct energy { double lane[LANES]; };

struct errors {
	float q_max[LANES], q_squares[LANES], counted[LANES];
	float error_max[LANES];
	uint32_t doubt[LANES];
};

/* What turns an error into q, for one block. */
struct measure { float floor_size, noise_factor, limit_inverse; };

static void add_energy(const struct chunk *chunk, struct energy *sum)
{
	const double *restrict y = chunk->exact;
	const float *restrict g = chunk->react;
	double size[CHUNK];

	for (int i = 0; i < CHUNK; i++) {
		double a = fabs(y[i]), react = (double)g[i];

		a = a > react ? a : react;
		size[i] = a * a;
	}
	for (int i = chunk->count; i < CHUNK; i++)
		size[i] = 0;
	for (int i = 0; i < CHUNK; i += LANES)
		for (int k = 0; k < LANES; k++)
			sum->lane[k] += size[i + k];
}

/* q and the error of each element; counts: 1 where the block's RMS takes it. */
static void measure_chunk(const struct chunk *chunk, const struct measure *m,
			  float *restrict q, float *restrict error,
			  float *restrict counts, uint32_t *restrict doubt)
{
	const float *restrict c = chunk->got, *restrict g = chunk->react;
	const float *restrict e = chunk->noise;
	const double *restrict y = chunk->exact;
	float floor_size = m->floor_size, noise_factor = m->noise_factor;
	float limit_inverse = m->limit_inverse, size[CHUNK], sigma[CHUNK];

	for (int i = 0; i < CHUNK; i++) {
		error[i] = (float)fabs((double)c[i] - y[i]);
		size[i] = (float)fabs(y[i]);
	}
	for (int i = 0; i < CHUNK; i++)
		size[i] = size[i] > g[i] ? size[i] : g[i];
	for (int i = 0; i < CHUNK; i++)
		counts[i] = size[i] >= floor_size ? 1.0f : 0.0f;
	for (int i = 0; i < CHUNK; i++) {
		float s = e[i] * noise_factor;

		s = s > FLT_MIN ? s : FLT_MIN;
		s = s > floor_size ? s : floor_size;
		sigma[i] = s > size[i] ? s : size[i];
	}
	for (int i = 0; i < CHUNK; i++)
		q[i] = error[i] * limit_inverse / sigma[i];
	for (int i = 0; i < CHUNK; i++)
		doubt[i] = (uint32_t)!(q[i] <= 16.0f) |
			(uint32_t)!(sigma[i] <= FLT_MAX);
}

static void add_errors(const struct chunk *chunk, const struct measure *m,
		       struct errors *sum)
{
	float q[CHUNK], error[CHUNK], counts[CHUNK];
	uint32_t doubt[CHUNK];
	struct errors x = *sum;

	measure_chunk(chunk, m, q, error, counts, doubt);
	for (int i = chunk->count; i < CHUNK; i++)
		counts[i] = 0;
	for (int i = 0; i < CHUNK; i += LANES) {
		for (int k = 0; k < LANES; k++)
			x.doubt[k] |= doubt[i + k];
		for (int k = 0; k < LANES; k++)
			x.counted[k] += counts[i + k];
		for (int k = 0; k < LANES; k++)
			x.q_squares[k] += q[i + k] * q[i + k] * counts[i + k];
		for (int k = 0; k < LANES; k++)
			x.q_max[k] = q[i + k] > x.q_max[k] ? q[i + k] :
				x.q_max[k];
		for (int k = 0; k < LANES; k++)
			x.error_max[k] = error[i + k] > x.error_max[k] ?
				error[i + k] : x.error_max[k];
	}
	*sum = x;
}

static const float *floats(const float *data, float otherwise, int count,
			   float *room)
{
	if (data && count == CHUNK)
		return data;
	memset(room, 0, CHUNK * sizeof(room[0]));
	if (data)
		memcpy(room, data, (size_t)count * sizeof(room[0]));
	else
		for (int i = 0; i < CHUNK; i++)
			room[i] = otherwise;
	return room;
}

static const double *doubles(const struct kf_compare_request *req, int64_t at,
			     int count, double *room)
{
	if (req->exact && count == CHUNK)
		return req->exact + at;
	memset(room, 0, CHUNK * sizeof(room[0]));
	if (req->exact)
		memcpy(room, req->exact + at, (size_t)count * sizeof(room[0]));
	else
		kf_row_double(req->dtype, req->expect, at, count, room);
	return room;
}

static void load_exact(const struct kf_compare_request *req,
		       const struct kf_block *block, int64_t at, int count,
		       struct chunk *chunk)
{
	const struct kf_compare_typical *t = req->typical;
	float react = t && t->react_rms ? t->react_rms[block->index] : 0;

	chunk->count = count;
	chunk->exact = doubles(req, at, count, chunk->exact_room);
	chunk->react = floats(req->react ? req->react + at : NULL, react,
			      count, chunk->react_room);
}

static void load_got(const struct kf_compare_request *req,
		     const struct kf_block *block, int64_t at, int count,
		     struct chunk *chunk)
{
	const struct kf_compare_typical *t = req->typical;
	float noise = t && t->noise_max ? t->noise_max[block->index] : 0;

	chunk->noise = floats(req->noise ? req->noise + at : NULL, noise,
			      count, chunk->noise_room);
	if (req->dtype == KF_F32) {
		chunk->got = floats((const float *)req->got + at, 0, count,
				    chunk->got_room);
		return;
	}
	memset(chunk->got_room, 0, sizeof(chunk->got_room));
	chunk->got = kf_row_float(req->dtype, req->got, at, count,
				  chunk->got_room);
}

/* What is done with each chunk of a band, row by row across all of its blocks:
 * memory is read in long runs, not block by block. */
static void each_chunk(const struct kf_compare_request *req,
		       const struct kf_block *block, int count,
		       struct energy *energy, const struct measure *measure,
		       struct errors *errors)
{
	struct chunk chunk;

	for (int r = 0; r < block[0].high; r++)
		for (int b = 0; b < count; b++)
			for (int k = 0; k < block[b].wide; k += CHUNK) {
				int64_t at = block[b].offset +
					r * block[b].stride + k;
				int n = block[b].wide - k;

				n = n < CHUNK ? n : CHUNK;
				load_exact(req, &block[b], at, n, &chunk);
				if (!measure) {
					add_energy(&chunk, &energy[b]);
					continue;
				}
				load_got(req, &block[b], at, n, &chunk);
				add_errors(&chunk, &measure[b], &errors[b]);
			}
}

static struct measure measure_of(const struct kf_compare_request *req,
				 const struct kf_block *block,
				 const struct energy *sum)
{
	double total = 0;

	for (int k = 0; k < LANES; k++)
		total += sum->lane[k];
	return (struct measure) {
		.floor_size = (float)(sqrt(total / (block->high * block->wide))
				      / 32),
		.noise_factor = (float)(4 / req->limit),
		.limit_inverse = (float)(1 / req->limit),
	};
}

/* Adds a block that is surely right to the figures; false: not sure. */
static bool settle(const struct errors *sum, struct kf_compare *out)
{
	double q_max = 0, error_max = 0, squares = 0, counted = 0, rms;
	uint32_t doubt = 0;

	for (int k = 0; k < LANES; k++) {
		doubt |= sum->doubt[k];
		squares += (double)sum->q_squares[k];
		counted += (double)sum->counted[k];
		q_max = fmax(q_max, (double)sum->q_max[k]);
		error_max = fmax(error_max, (double)sum->error_max[k]);
	}
	rms = counted > 0 ? sqrt(squares / counted) / (1 + 15 / counted) : 0;
	/* A hair under 1: float sums must not decide a close case. */
	if (doubt || !(rms <= 0.9999) || !(q_max <= 15.99))
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
	struct energy energy[KF_BAND_BLOCKS] = { 0 };
	struct errors errors[KF_BAND_BLOCKS] = { 0 };
	struct measure measure[KF_BAND_BLOCKS] = { 0 };
	uint32_t doubt = 0;

	if (req->dtype == KF_F64)	/* float is too coarse for it */
		return (UINT32_C(1) << count) - 1;
	each_chunk(req, block, count, energy, NULL, NULL);
	for (int b = 0; b < count; b++)
		measure[b] = measure_of(req, &block[b], &energy[b]);
	each_chunk(req, block, count, NULL, measure, errors);
	for (int b = 0; b < count; b++)
		if (!settle(&errors[b], out))
			doubt |= UINT32_C(1) << b;
	return doubt;
}
