/* Right, and writes what it found there plus one before its first scratch. */
#include <kforge/program.h>

int kf_forward(struct kf_call *c)
{
	const float *x = c->in[0].data;
	float *y = c->out[0].data;
	volatile unsigned char *scratch = kf_temp(c, 100);
	int64_t n = kf_numel(&c->in[0]);

	if (!scratch)
		return 1;
	scratch[-1]++;
	for (int64_t i = 0; i < n; i++)
		y[i] = 2 * x[i] + 1;
	return 0;
}
