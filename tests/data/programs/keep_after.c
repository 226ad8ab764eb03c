/* Right, from kept memory of which it uses one float more than it asked for. */
#include <kforge/program.h>

int kf_prepare(struct kf_call *c)
{
	float *kept = kf_keep(c, 0, 2 * sizeof(float));

	if (!kept)
		return 1;
	kept[1] = ((const float *)c->weight[0].data)[0];
	kept[2] = ((const float *)c->weight[0].data)[1];
	return 0;
}

int kf_forward(struct kf_call *c)
{
	const float *x = c->in[0].data, *kept = kf_keep(c, 0, 8);
	float *y = c->out[0].data;

	for (int64_t i = 0; i < kf_numel(&c->in[0]); i++)
		y[i] = kept[1] * x[i] + kept[2];
	return 0;
}
