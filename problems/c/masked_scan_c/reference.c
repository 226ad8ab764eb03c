/* Running sums from the end, of the steps that are valid. */
#include <kforge/reference.h>

int kf_forward(struct kf_call *c)
{
	int64_t batch = c->in[0].shape[0], steps = c->in[0].shape[1];
	const kf_real *value = c->in[0].data;
	const uint8_t *valid = c->in[1].data;
	kf_real *y = c->out[0].data;

	for (int64_t b = 0; b < batch; b++) {
		double sum = 0;

		for (int64_t i = (b + 1) * steps; i-- > b * steps;) {
			if (valid[i])
				sum += value[i];
			y[i] = (kf_real)sum;
		}
	}
	return 0;
}
