/* softmax.c - the program that bench/verdict.py has judged: softmax over the
 * last dimension of one float32 tensor, a row a thread. */
#include <kforge/program.h>

#include <math.h>

static void softmax_row(const float *restrict x, float *restrict y, int64_t n)
{
	float largest = -INFINITY, sum = 0;

	for (int64_t i = 0; i < n; i++)
		largest = x[i] > largest ? x[i] : largest;
	for (int64_t i = 0; i < n; i++) {
		y[i] = expf(x[i] - largest);
		sum += y[i];
	}
	for (int64_t i = 0; i < n; i++)
		y[i] /= sum;
}

int kf_forward(struct kf_call *c)
{
	const struct kf_tensor *in = &c->in[0];
	int64_t n = in->shape[in->rank - 1];
	int64_t rows = kf_numel(in) / n;
	const float *x = in->data;
	float *y = c->out[0].data;

#pragma omp parallel for
	for (int64_t row = 0; row < rows; row++)
		softmax_row(x + row * n, y + row * n, n);
	return 0;
}
