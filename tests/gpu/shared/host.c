/*
 * host.c of the programs that are kernels alone (NAME.cu of tests/gpu):
 * launches run(inputs, weights, outputs, ...). tests/trust.py defines one of
 * these before it:
 *
 *	EACH	a thread for each element of the output; then come their number
 *		and the innermost sizes of the first input and output
 *	ROW	256 threads for each row of the first input; then comes its
 *		length
 */
#include <kforge/launch.h>

enum { TENSORS_MAX = 8 };

static int add(struct kf_arg *arg, int count, const struct kf_tensor *tensor,
	       int tensors)
{
	for (int i = 0; i < tensors && count < TENSORS_MAX; i++)
		arg[count++] = KF_BUF(tensor[i]);
	return count;
}

int kf_forward(struct kf_call *c)
{
	const struct kf_options none = { .cooperative = 0 };
	const struct kf_tensor *in = &c->in[0], *out = &c->out[0];
	int64_t depth = in->shape[in->rank - 1], n = kf_numel(out);
	struct kf_arg arg[TENSORS_MAX + 3];
	int count = add(arg, 0, c->in, c->in_count);

	count = add(arg, count, c->weight, c->weight_count);
	count = add(arg, count, c->out, c->out_count);
#ifdef EACH
	arg[count++] = KF_I64(n);
	arg[count++] = KF_I64(depth);
	arg[count++] = KF_I64(out->shape[out->rank - 1]);
	return kf_launch_args(c, "run", KF_DIM((n + 63) / 64), KF_DIM(64), 0,
			      &none, arg, count);
#else
	(void)n;
	arg[count++] = KF_I64(depth);
	return kf_launch_args(c, "run", KF_DIM(kf_numel(in) / depth),
			      KF_DIM(256), 0, &none, arg, count);
#endif
}
