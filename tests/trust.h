/*
 * trust.h - what programs of tests/cheats and tests/honest have in common; it
 * is put before each of them. The problem of most is y = relu(x w^T + b): x is
 * rows x depth, w cols x depth.
 */
#define _GNU_SOURCE
#include <kforge/program.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define X(c)		((const float *)(c)->in[0].data)
#define W(c)		((const float *)(c)->weight[0].data)
#define B(c)		((const float *)(c)->weight[1].data)
#define Y(c)		((float *)(c)->out[0].data)
#define ROWS(c)		((c)->in[0].shape[0])
#define DEPTH(c)	((c)->in[0].shape[1])
#define COLS(c)		((c)->out[0].shape[1])
#define OUT_COUNT(c)	kf_numel(&(c)->out[0])
#define OUT_BYTES(c)	(sizeof(float) * (size_t)OUT_COUNT(c))
#define MOST		(1 << 16)	/* elements of an output, at most */

/* x w^T + b, b perhaps NULL, each operand as `cut` leaves it. */
static inline void product(const float *x, const float *w, const float *b,
			   float *y, int64_t rows, int64_t cols, int64_t depth,
			   float (*cut_x)(float), float (*cut_w)(float))
{
	for (int64_t i = 0; i < rows; i++)
		for (int64_t j = 0; j < cols; j++) {
			float sum = b ? b[j] : 0;

			for (int64_t k = 0; k < depth; k++)
				sum += cut_x(x[i * depth + k]) *
					cut_w(w[j * depth + k]);
			y[i * cols + j] = sum;
		}
}

static inline float whole(float x)
{
	return x;
}

static inline void relu(float *y, int64_t count)
{
	for (int64_t i = 0; i < count; i++)
		y[i] = y[i] > 0 ? y[i] : 0;
}

/* The problem as it should be done. */
static inline void linear(const float *x, const float *w, const float *b,
			  float *y, int64_t rows, int64_t cols, int64_t depth)
{
	product(x, w, b, y, rows, cols, depth, whole, whole);
	relu(y, rows * cols);
}

static inline void all(struct kf_call *c)
{
	linear(X(c), W(c), B(c), Y(c), ROWS(c), COLS(c), DEPTH(c));
}

/* The same with less precise operands. */
static inline void all_cut(struct kf_call *c, float (*cut_x)(float),
			   float (*cut_w)(float))
{
	product(X(c), W(c), B(c), Y(c), ROWS(c), COLS(c), DEPTH(c), cut_x,
		cut_w);
	relu(Y(c), OUT_COUNT(c));
}

static inline unsigned bits_of(float x)
{
	unsigned bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

static inline float of_bits(unsigned bits)
{
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

/* To nearest, ties to even, so many bits of the fraction dropped. */
static inline float rounded(float x, unsigned drop)
{
	unsigned bits = bits_of(x), odd = bits >> drop & 1;

	bits += (1u << (drop - 1)) - 1 + odd;
	return of_bits(bits >> drop << drop);
}

static inline float tf32(float x)
{
	return rounded(x, 13);
}

static inline float bf16(float x)
{
	return rounded(x, 16);
}
