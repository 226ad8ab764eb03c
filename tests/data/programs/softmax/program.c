/* softmax(scores / 8 + bias) of each row. */
#include <kforge/program.h>

#include <math.h>

int kf_forward(struct kf_call *c)
{
	int64_t rows = c->in[0].shape[0], n = c->in[0].shape[1];
	const float *bias = c->weight[0].data;

	for (int64_t r = 0; r < rows; r++) {
		const float *x = (const float *)c->in[0].data + r * n;
		float *y = (float *)c->out[0].data + r * n;
		float largest = -INFINITY;
		double sum = 0;

		for (int64_t i = 0; i < n; i++) {
			y[i] = x[i] * 0.125f + bias[i];
			largest = fmaxf(largest, y[i]);
		}
		for (int64_t i = 0; i < n; i++) {
			y[i] = expf(y[i] - largest);
			sum += y[i];
		}
		for (int64_t i = 0; i < n; i++)
			y[i] = (float)(y[i] / sum);
	}
	return 0;
}
