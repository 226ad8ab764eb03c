/* input: writes outside of output y */
#include <kforge/reference.h>

int kf_forward(struct kf_call *c)
{
	const kf_real *x = c->in[0].data;
	kf_real *y = c->out[0].data;

	for (int i = 0; i < N; i++)
		y[i] = 2 * x[i];
	y[N] = 0;
	return 0;
}
