/* A convolution, a shift for each channel, hard swish. */
#include <kforge/program.h>

#include <math.h>

int kf_forward(struct kf_call *c)
{
	const struct kf_tensor *weight = kf_weight(c, "conv.weight");
	const int64_t *in = c->in[0].shape, *shape = weight->shape;
	const float *x = c->in[0].data, *w = weight->data;
	const float *shift = kf_weight(c, "shift")->data;
	int64_t k = shape[2], taps = in[1] * k * k;
	float *y = c->out[0].data;

	for (int64_t i = 0; i < kf_numel(&c->out[0]); i++) {
		int64_t to = i / in[3] / in[2] % shape[0];
		int64_t batch = i / in[3] / in[2] / shape[0];
		double sum = shift[to];

		for (int64_t t = 0; t < taps; t++) {
			int64_t plane = batch * in[1] + t / (k * k);
			int64_t a = i / in[3] % in[2] + t / k % k - k / 2;
			int64_t b = i % in[3] + t % k - k / 2;

			if (a >= 0 && b >= 0 && a < in[2] && b < in[3])
				sum += (double)x[(plane * in[2] + a) * in[3] +
						 b] * w[to * taps + t];
		}
		y[i] = (float)(sum * fmin(fmax(sum + 3, 0), 6) / 6);
	}
	return 0;
}
