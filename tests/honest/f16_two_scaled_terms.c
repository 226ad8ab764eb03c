/* Each operand as the sum of two float16 numbers, after its row or column was
 * brought near 1 by a power of two; three products of those.
 *
 * class: two-term f16
 * problem: problems/c/matmul_odd_c
 * size: test
 * found: correct -
 */
#include <math.h>

static float f16(float x)
{
	return (float)(_Float16)x;
}

/* A power of two; 1 where no such part would do. */
static float scale_of(const float *x, int64_t count, int64_t step)
{
	float largest = 0;

	for (int64_t k = 0; k < count; k++)
		largest = fmaxf(largest, fabsf(x[k * step]));
	return isnormal(largest) ? ldexpf(1, -ilogbf(largest)) : 1;
}

static float three_products(float p, float q, float *low)
{
	float ph = f16(p), pl = f16(p - ph), qh = f16(q), ql = f16(q - qh);

	*low += ph * ql + pl * qh;
	return ph * qh;
}

int kf_forward(struct kf_call *c)
{
	const float *a = c->in[0].data, *b = c->in[1].data;
	const int64_t rows = ROWS(c), inner = DEPTH(c), n = COLS(c);

	for (int64_t r = 0; r < rows; r++)
		for (int64_t i = 0; i < n; i++) {
			float left = scale_of(a + r * inner, inner, 1);
			float right = scale_of(b + i, inner, n);
			float sum = 0, low = 0;

			for (int64_t k = 0; k < inner; k++)
				sum += three_products(a[r * inner + k] * left,
						      b[k * n + i] * right,
						      &low);
			Y(c)[r * n + i] = (sum + low) / left / right;
		}
	return 0;
}
