/* softmax.c - the program that bench/verdict.py has judged: a plain solution of
 * problems/level1/softmax.py, rows shared among threads. */
#include <kforge/program.h>

#include <math.h>

static const float scale = 0.125f;

static void softmax_row(const float *restrict x, const float *restrict bias,
			float *restrict y, int64_t n)
{
	float largest = -INFINITY, sum = 0;

	for (int64_t i = 0; i < n; i++) {
		y[i] = x[i] * scale + bias[i];
		largest = y[i] > largest ? y[i] : largest;
	}
	for (int64_t i = 0; i < n; i++) {
		y[i] = expf(y[i] - largest);
		sum += y[i];
	}
	for (int64_t i = 0; i < n; i++)
		y[i] /= sum;
}

int kf_forward(struct kf_call *c)
{
	const struct kf_tensor *in = &c->in[0];
	int64_t rows = in->shape[0], n = in->shape[1];
	const float *bias = kf_weight(c, "bias")->data;
	const float *x = in->data;
	float *y = c->out[0].data;

#pragma omp parallel for
	for (int64_t row = 0; row < rows; row++)
		softmax_row(x + row * n, bias, y + row * n, n);
	return 0;
}
