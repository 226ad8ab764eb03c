/* Running sums from the end, of the steps that are valid. */
#include <kforge/program.h>

int kf_forward(struct kf_call *c)
{
	int64_t steps = c->in[0].shape[1];
	const float *value = c->in[0].data;
	const uint8_t *valid = c->in[1].data;
	float *y = c->out[0].data;
	double sum = 0;

	for (int64_t i = kf_numel(&c->in[0]); i-- > 0;) {
		if ((i + 1) % steps == 0)
			sum = 0;
		if (valid[i])
			sum += value[i];
		y[i] = (float)sum;
	}
	return 0;
}
