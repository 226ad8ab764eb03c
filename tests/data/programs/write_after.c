/* Writes one element too many. */
#include <kforge/program.h>

int kf_forward(struct kf_call *c)
{
	((float *)c->out[0].data)[kf_numel(&c->out[0])] = 1;

	const float *x = c->in[0].data;
	float *y = c->out[0].data;
	int64_t n = kf_numel(&c->in[0]);

	for (int64_t i = 0; i < n; i++)
		y[i] = 2 * x[i] + 1;
	return 0;
}
