/* A transposed convolution of stride 2 and padding 1: every input is spread
 * over the outputs that it reaches. */
#include <kforge/program.h>

static void spread(double value, const float *w, double *y, int64_t h,
		   int64_t x, const int64_t *kernel, const int64_t *out)
{
	for (int64_t i = 0; i < kernel[2]; i++)
		for (int64_t j = 0; j < kernel[3]; j++) {
			int64_t a = 2 * h - 1 + i, b = 2 * x - 1 + j;

			if (a >= 0 && b >= 0 && a < out[2] && b < out[3])
				y[a * out[3] + b] += value *
						     w[i * kernel[3] + j];
		}
}

int kf_forward(struct kf_call *c)
{
	const int64_t *in = c->in[0].shape, *out = c->out[0].shape;
	const int64_t *kernel = c->weight[0].shape;
	int64_t plane = out[2] * out[3], taps = kernel[2] * kernel[3];
	const float *x = c->in[0].data, *w = c->weight[0].data;
	const float *bias = c->weight[1].data;
	double *sum = kf_temp(c, (size_t)plane * sizeof(double));

	for (int64_t p = 0; sum && p < out[0] * out[1]; p++) {
		int64_t batch = p / out[1], to = p % out[1];

		for (int64_t i = 0; i < plane; i++)
			sum[i] = bias[to];
		for (int64_t i = 0; i < in[1] * in[2] * in[3]; i++) {
			int64_t from = i / (in[2] * in[3]);

			spread(x[batch * in[1] * in[2] * in[3] + i],
			       w + (from * out[1] + to) * taps, sum,
			       i / in[3] % in[2], i % in[3], kernel, out);
		}
		for (int64_t i = 0; i < plane; i++)
			((float *)c->out[0].data)[p * plane + i] =
				(float)sum[i];
	}
	return !sum;
}
