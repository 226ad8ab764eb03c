/* input: inputs and weights are read-only */
#include <kforge/reference.h>

int kf_forward(struct kf_call *c)
{
	kf_real *x = c->in[0].data, *y = c->out[0].data;

	for (int i = 0; i < N; i++)
		y[i] = x[i] *= 2;
	return 0;
}
