/* Reads the weight behind the last one. */
#include <kforge/program.h>

int kf_forward(struct kf_call *c)
{
	const float *x = c->weight[c->weight_count].data;
	float *y = c->out[0].data;
	int64_t n = kf_numel(&c->out[0]);

	for (int64_t i = 0; i < n; i++)
		y[i] = 2 * x[i] + 1;
	return 0;
}
