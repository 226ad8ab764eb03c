/* A convolution of each channel by itself, stride 2. */
#include <kforge/program.h>

int kf_forward(struct kf_call *c)
{
	const int64_t *in = c->in[0].shape, *out = c->out[0].shape;
	int64_t kernel = c->weight[0].shape[2];
	const float *x = c->in[0].data, *w = c->weight[0].data;
	const float *bias = c->weight[1].data;
	float *y = c->out[0].data;

	for (int64_t i = 0; i < kf_numel(&c->out[0]); i++) {
		int64_t plane = i / out[3] / out[2], channel = plane % in[1];
		int64_t top = 2 * (i / out[3] % out[2]) - kernel / 2;
		int64_t left = 2 * (i % out[3]) - kernel / 2;
		double sum = bias[channel];

		for (int64_t k = 0; k < kernel * kernel; k++) {
			int64_t a = top + k / kernel, b = left + k % kernel;

			if (a >= 0 && b >= 0 && a < in[2] && b < in[3])
				sum += (double)x[(plane * in[2] + a) * in[3] +
						 b] *
				       w[channel * kernel * kernel + k];
		}
		y[i] = (float)sum;
	}
	return 0;
}
