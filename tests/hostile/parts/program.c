#define _GNU_SOURCE
#include <kforge/program.h>
HERE_TEXT
int kf_forward(struct kf_call *c)
{
	float alpha = (float)c->scalar[0].f, beta = (float)c->scalar[1].f;
	const float *x = c->in[0].data, *y = c->in[1].data;
	float *z = c->out[0].data;

	if (HERE_IN_FORWARD)
		return 66;
	for (int64_t i = 0; i < kf_numel(&c->out[0]); i++)
		z[i] = alpha * x[i] + beta * y[i];
	return 0;
}
