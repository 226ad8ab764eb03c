/* input: does not write output y at index (63) */
#include <kforge/reference.h>

int kf_forward(struct kf_call *c)
{
	const kf_real *x = c->in[0].data;
	kf_real *y = c->out[0].data;

	for (int i = 0; i < N - 1; i++)
		y[i] = 2 * x[i];
	return 0;
}
