/* What kf_prepare makes of the weights lies in a variable of the module, where
 * the kernel of kf_forward finds it.
 *
 * class: precomputation from weights
 * problem: norm
 * found: correct -
 */
#include <kforge/launch.h>

int kf_prepare(struct kf_call *c)
{
	const struct kf_tensor *gain = kf_weight(c, "gain");

	return kf_launch(c, "gather", KF_DIM(1), KF_DIM(256), 0, KF_BUF(gain),
			 KF_BUF(kf_weight(c, "shift")), KF_I32(kf_numel(gain)));
}

int kf_forward(struct kf_call *c)
{
	int64_t rows = c->in[0].shape[0], n = c->in[0].shape[1];

	return kf_launch(c, "normalise", KF_DIM((rows + 7) / 8),
			 KF_DIM(32, 8), 0, KF_BUF(c->in[0]), KF_BUF(c->out[0]),
			 KF_I32(rows), KF_I32(n));
}
