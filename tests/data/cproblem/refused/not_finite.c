/* input: not finite on its own inputs: output y at index (7) */
#include <kforge/reference.h>

int kf_forward(struct kf_call *c)
{
	const kf_real *x = c->in[0].data;
	kf_real *y = c->out[0].data;

	for (int i = 0; i < N; i++)
		y[i] = i == 7 ? 1 / (x[i] - x[i]) : x[i];
	return 0;
}
