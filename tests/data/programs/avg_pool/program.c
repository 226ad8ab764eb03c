/* Means over windows of 3 by 3, every second place; the edge has fewer. */
#include <kforge/program.h>

int kf_forward(struct kf_call *c)
{
	const int64_t *in = c->in[0].shape, *out = c->out[0].shape;
	const float *x = c->in[0].data;
	float *y = c->out[0].data;

	for (int64_t i = 0; i < kf_numel(&c->out[0]); i++) {
		int64_t w = i % out[3], h = i / out[3] % out[2];
		int64_t plane = i / out[3] / out[2];
		double sum = 0;
		int count = 0;

		for (int64_t a = 2 * h - 1; a <= 2 * h + 1; a++)
			for (int64_t b = 2 * w - 1; b <= 2 * w + 1; b++) {
				if (a < 0 || b < 0 || a >= in[2] || b >= in[3])
					continue;
				sum += x[(plane * in[2] + a) * in[3] + b];
				count++;
			}
		y[i] = (float)(sum / count);
	}
	return 0;
}
