/* Returns what is wrong with kf_temp. */
#include <kforge/program.h>

int kf_forward(struct kf_call *c)
{
	const float *x = c->in[0].data;
	float *y = c->out[0].data;
	int64_t n = kf_numel(&c->in[0]);
	unsigned char *a = kf_temp(c, 1000), *b = kf_temp(c, 3u << 20);

	if (!a || !b || (uintptr_t)a % 256 || (uintptr_t)b % 256)
		return 2;
	if (a[0] == 42 || b[(3u << 20) - 1] == 42)
		return 3;	/* it survived the last call */
	if (kf_temp(c, (size_t)1 << 60))
		return 4;
	a[0] = b[(3u << 20) - 1] = 42;
	if (b >= a && b < a + 1000)
		return 5;
	for (int64_t i = 0; i < n; i++)
		y[i] = 2 * x[i] + 1;
	return 0;
}
