/* Pairs of neighbours turned by an angle: position times frequency. */
#include <kforge/program.h>

#include <math.h>

int kf_forward(struct kf_call *c)
{
	const int64_t *shape = c->in[0].shape;
	int64_t heads = shape[1], tokens = shape[2], depth = shape[3];
	const int64_t *position = c->in[2].data;
	const float *frequency = c->weight[0].data;

	for (int64_t i = 0; i < kf_numel(&c->in[0]); i += 2) {
		int64_t token = i / depth % tokens;
		int64_t batch = i / depth / tokens / heads;
		float angle = (float)position[batch * tokens + token] *
			      frequency[i % depth / 2];

		for (int k = 0; k < 2; k++) {
			const float *x = c->in[k].data;
			float *y = c->out[k].data;

			y[i] = x[i] * cosf(angle) - x[i + 1] * sinf(angle);
			y[i + 1] = x[i] * sinf(angle) + x[i + 1] * cosf(angle);
		}
	}
	return 0;
}
