/* A convolution over the past: step t sees t, t - 4 and t - 8. */
#include <kforge/program.h>

#define DILATION 4

int kf_forward(struct kf_call *c)
{
	const int64_t *in = c->in[0].shape, *shape = c->weight[0].shape;
	const float *x = c->in[0].data, *w = c->weight[0].data;
	const float *bias = c->weight[1].data;
	float *y = c->out[0].data;

	for (int64_t i = 0; i < kf_numel(&c->out[0]); i++) {
		int64_t t = i % in[2], to = i / in[2] % shape[0];
		int64_t batch = i / in[2] / shape[0];
		double sum = bias[to];

		for (int64_t from = 0; from < in[1]; from++)
			for (int64_t k = 0; k < shape[2]; k++) {
				int64_t at = t - (shape[2] - 1 - k) * DILATION;

				if (at >= 0)
					sum += (double)x[(batch * in[1] +
						  from) * in[2] + at] *
					       w[(to * in[1] + from) *
						 shape[2] + k];
			}
		y[i] = (float)sum;
	}
	return 0;
}
