/* input: something else when kf_real is double */
#include <kforge/reference.h>

int kf_forward(struct kf_call *c)
{
	const float *x = c->in[0].data;
	kf_real *y = c->out[0].data;

	for (int i = 0; i < N; i++)
		y[i] = 2 * (kf_real)x[i];
	return 0;
}
