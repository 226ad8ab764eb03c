/* Two outputs of a three-tap filter by four products (Winograd's F(2, 3)), the
 * filters transformed by kf_prepare.
 *
 * class: Winograd
 * problem: problems/c/conv1d_c
 * size: test
 * found: correct -
 */
#include <kforge/launch.h>

int kf_prepare(struct kf_call *c)
{
	const struct kf_tensor *w = kf_weight(c, "conv.weight");
	int64_t filters = w->shape[0] * w->shape[1];
	void *to = kf_keep(c, 0, (size_t)filters * 4 * sizeof(float));

	if (!to)
		return 1;
	return kf_launch(c, "transform", KF_DIM((filters + 31) / 32),
			 KF_DIM(32), 0, KF_BUF(w), KF_BUF(to), KF_I64(filters));
}

int kf_forward(struct kf_call *c)
{
	const struct kf_tensor *in = &c->in[0];
	int64_t inputs = in->shape[1], steps = in->shape[2];
	int64_t outputs = c->out[0].shape[1], pairs = (steps + 7) / 8 * 4;
	void *filters = kf_keep(c, 0,
			(size_t)(outputs * inputs) * 4 * sizeof(float));

	return kf_launch(c, "convolve", KF_DIM((pairs + 31) / 32, outputs,
					       in->shape[0]), KF_DIM(32), 0,
			 KF_BUF(in[0]), KF_BUF(filters),
			 KF_BUF(kf_weight(c, "conv.bias")), KF_BUF(c->out[0]),
			 KF_I64(inputs), KF_I64(steps));
}
