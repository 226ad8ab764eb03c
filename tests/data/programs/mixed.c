/* Checks every kind of argument; returns the number of what is wrong. */
#include <kforge/program.h>

int kf_forward(struct kf_call *c)
{
	const int64_t *i64 = c->in[0].data;
	unsigned char *bytes = c->out[0].data;
	double *sum = c->out[2].data;

	if (c->in_count != 3 || c->out_count != 3 || c->scalar_count != 3 ||
	    c->weight_count != 2)
		return 1;
	if (c->in[0].dtype != KF_I64 || c->in[0].rank != 2 ||
	    c->in[0].shape[0] != 2 || c->in[0].shape[1] != 3)
		return 2;
	if (c->in[1].dtype != KF_DTYPE_NONE || c->in[1].rank ||
	    c->in[1].data)
		return 3;
	if (kf_numel(&c->in[2]) || kf_numel(&c->out[1]))
		return 4;
	if (c->scalar[0].kind != 'i' || c->scalar[0].i != -7 ||
	    c->scalar[1].kind != 'f' || c->scalar[1].f < 0.49 ||
	    c->scalar[2].kind != 'b' || c->scalar[2].i != 1)
		return 5;
	if (kf_weight(c, "b") != &c->weight[1] || kf_weight(c, "a.b") ||
	    kf_weight(c, "a") != &c->weight[0] || kf_weight(c, ""))
		return 6;
	if (c->weight[1].rank || *(float *)c->weight[1].data != 0.25f)
		return 7;
	for (int k = 0; k < 3; k++)
		if ((uintptr_t)c->out[k].data % 256)
			return 8;
	*sum = (double)(i64[0] + i64[5]);
	bytes[0] = bytes[1] = bytes[2] = 1;
	return 0;
}
