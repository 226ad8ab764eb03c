/* Right, by way of scratch of which it uses one float more than it asked for:
 * of the second of three pieces, none of whose sizes is a round number. */
#include <kforge/program.h>

int kf_forward(struct kf_call *c)
{
	const float *x = c->in[0].data;
	float *y = c->out[0].data;
	int64_t n = kf_numel(&c->in[0]);
	float *first = kf_temp(c, (size_t)n * 4 + 4);
	float *rows = kf_temp(c, (size_t)n * 4);
	float *last = kf_temp(c, 12);

	if (!first || !rows || !last)
		return 1;
	first[n] = last[2] = 0;
	for (int64_t i = 0; i < n; i++)
		rows[i + 1] = 2 * x[i] + 1;
	for (int64_t i = 0; i < n; i++)
		y[i] = rows[i + 1];
	return 0;
}
