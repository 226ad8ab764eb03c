#define _GNU_SOURCE
#include <kforge/reference.h>
HERE_TEXT
int kf_forward(struct kf_call *c)
{
	kf_real alpha = (kf_real)c->scalar[0].f, beta = (kf_real)c->scalar[1].f;
	const kf_real *x = c->in[0].data, *y = c->in[1].data;
	kf_real *z = c->out[0].data;

	if (HERE_IN_FORWARD)
		return 66;
	for (int64_t i = 0; i < kf_numel(&c->out[0]); i++)
		z[i] = alpha * x[i] + beta * y[i];
	return 0;
}
