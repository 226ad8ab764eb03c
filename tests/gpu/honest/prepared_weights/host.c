/* kf_prepare turns the weights round, so that neighbours read neighbours.
 *
 * class: precomputation from weights
 * problem: linear
 * found: correct -
 */
#include <kforge/launch.h>

int kf_prepare(struct kf_call *c)
{
	const struct kf_tensor *w = kf_weight(c, "weight");
	void *turned = kf_keep(c, 0, (size_t)kf_numel(w) * sizeof(float));

	if (!turned)
		return 1;
	return kf_launch(c, "turn", KF_DIM((kf_numel(w) + 255) / 256),
			 KF_DIM(256), 0, KF_BUF(w), KF_BUF(turned),
			 KF_I64(w->shape[0]), KF_I64(w->shape[1]));
}

int kf_forward(struct kf_call *c)
{
	const struct kf_tensor *w = kf_weight(c, "weight");
	int64_t rows = c->in[0].shape[0], depth = w->shape[1];
	void *turned = kf_keep(c, 0, (size_t)kf_numel(w) * sizeof(float));

	return kf_launch(c, "product", KF_DIM(rows), KF_DIM(64), 0,
			 KF_BUF(c->in[0]), KF_BUF(turned),
			 KF_BUF(kf_weight(c, "bias")), KF_BUF(c->out[0]),
			 KF_I64(w->shape[0]), KF_I64(depth));
}
