/* A convolution over time with gaps of DILATION steps; what would lie before
 * the first step is zero. */
#include <kforge/reference.h>

#ifndef DILATION
#define DILATION 4
#endif

/* Adds one channel's part to one channel of the output. */
static void add_channel(const kf_real *x, const kf_real *weight, kf_real *y,
			int64_t steps, int64_t kernel)
{
	for (int64_t k = 0; k < kernel; k++) {
		int64_t back = (kernel - 1 - k) * DILATION;

		for (int64_t step = back; step < steps; step++)
			y[step] += weight[k] * x[step - back];
	}
}

int kf_forward(struct kf_call *c)
{
	const struct kf_tensor *weight = &c->weight[0];
	int64_t batch = c->in[0].shape[0], steps = c->in[0].shape[2];
	int64_t outputs = weight->shape[0], inputs = weight->shape[1];
	int64_t kernel = weight->shape[2];
	const kf_real *x = c->in[0].data, *w = weight->data;
	const kf_real *bias = c->weight[1].data;
	kf_real *y = c->out[0].data;

	for (int64_t at = 0; at < batch * outputs; at++, y += steps) {
		int64_t b = at / outputs, o = at % outputs;

		for (int64_t step = 0; step < steps; step++)
			y[step] = bias[o];
		for (int64_t i = 0; i < inputs; i++)
			add_channel(x + (b * inputs + i) * steps,
				    w + (o * inputs + i) * kernel, y, steps,
				    kernel);
	}
	return 0;
}
