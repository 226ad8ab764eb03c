/* y = fc.bias[0] x + fc.bias[1], with the weights doubled beforehand. Returns
 * what is wrong with kf_prepare or kf_keep. */
#include <kforge/program.h>

int kf_prepare(struct kf_call *c)
{
	const float *bias = kf_weight(c, "fc.bias")->data;
	float *kept = kf_keep(c, 3, 4096);

	if (c->in[0].data || c->out[0].data)
		return 2;
	if (!kept || (uintptr_t)kept % 256 || kept[0] != 0 || kept[1000] != 0)
		return 3;
	if (kf_keep(c, 3, 4096) != kept || kf_keep(c, 16, 1))
		return 4;
	kept[0] = 2 * bias[0];
	kept[1] = 2 * bias[1];
	return 0;
}

int kf_forward(struct kf_call *c)
{
	const float *x = c->in[0].data, *kept = kf_keep(c, 3, 4096);
	float *y = c->out[0].data;
	int64_t n = kf_numel(&c->in[0]);

	if (!kept)
		return 5;
	if (kf_keep(c, 4, 16))
		return 6;
	for (int64_t i = 0; i < n; i++)
		y[i] = kept[0] / 2 * x[i] + kept[1] / 2;
	return 0;
}
