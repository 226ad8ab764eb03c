/* softmax of scores less slope times distance, over what may be seen: the past
 * without padding. */
#include <kforge/program.h>

#include <math.h>

int kf_forward(struct kf_call *c)
{
	const int64_t *shape = c->in[0].shape;
	int64_t heads = shape[1], n = shape[2];
	const uint8_t *padding = c->in[1].data;
	const float *slope = kf_weight(c, "slope")->data;

	for (int64_t r = 0; r < shape[0] * heads * n; r++) {
		int64_t i = r % n, head = r / n % heads, batch = r / n / heads;
		const float *x = (const float *)c->in[0].data + r * n;
		float *y = (float *)c->out[0].data + r * n;
		float largest = -INFINITY;
		double sum = 0;

		for (int64_t j = 0; j < n; j++) {
			y[j] = j > i || padding[batch * n + j] ? -INFINITY
			     : x[j] - slope[head] * (float)(i - j);
			largest = fmaxf(largest, y[j]);
		}
		for (int64_t j = 0; j < n; j++) {
			y[j] = expf(y[j] - largest);
			sum += y[j];
		}
		for (int64_t j = 0; j < n; j++)
			y[j] = (float)(y[j] / sum);
	}
	return 0;
}
