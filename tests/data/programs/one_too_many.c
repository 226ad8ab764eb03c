/* Goes one element too far in all that it does: what it reads there is NaN, and
 * so is what it writes after its output. */
#include <kforge/program.h>

int kf_forward(struct kf_call *c)
{
	const float *x = c->in[0].data;
	float *y = c->out[0].data;
	int64_t n = kf_numel(&c->in[0]);

	for (int64_t i = 0; i <= n; i++)
		y[i] = 2 * x[i] + 1;
	return 0;
}
