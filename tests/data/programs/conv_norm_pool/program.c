/* A convolution, its running statistics taken out, ReLU, and the largest of
 * each 2 by 2. */
#include <kforge/program.h>

#include <math.h>

static double convolve(const float *x, const float *w, int64_t a, int64_t b,
		       const int64_t *in, int64_t k)
{
	double sum = 0;

	for (int64_t t = 0; t < in[1] * k * k; t++) {
		int64_t h = a + t / k % k - k / 2, v = b + t % k - k / 2;

		if (h >= 0 && v >= 0 && h < in[2] && v < in[3])
			sum += (double)x[(t / (k * k) * in[2] + h) * in[3] +
					 v] * w[t];
	}
	return sum;
}

int kf_forward(struct kf_call *c)
{
	const struct kf_tensor *weight = kf_weight(c, "conv.weight");
	const int64_t *in = c->in[0].shape, *out = c->out[0].shape;
	const float *mean = kf_weight(c, "running_mean")->data;
	const float *variance = kf_weight(c, "running_var")->data;
	const float *gain = kf_weight(c, "gain")->data;
	const float *shift = kf_weight(c, "shift")->data;
	int64_t k = weight->shape[2], taps = in[1] * k * k;

	for (int64_t i = 0; i < kf_numel(&c->out[0]); i++) {
		int64_t w = i % out[3], h = i / out[3] % out[2];
		int64_t to = i / out[3] / out[2] % out[1];
		int64_t batch = i / out[3] / out[2] / out[1];
		const float *x = (const float *)c->in[0].data +
				 batch * in[1] * in[2] * in[3];
		double largest = 0;

		for (int64_t at = 0; at < 4; at++) {
			double y = convolve(x, (const float *)weight->data +
					    to * taps, 2 * h + at / 2,
					    2 * w + at % 2, in, k);

			y = (y - mean[to]) / sqrt(variance[to] + 1e-5) *
			    gain[to] + shift[to];
			largest = fmax(largest, y);
		}
		((float *)c->out[0].data)[i] = (float)largest;
	}
	return 0;
}
