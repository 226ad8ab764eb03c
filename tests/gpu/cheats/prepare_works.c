/* kf_prepare, which is not timed, is to do the work; kf_forward copies it.
 *
 * class: kf_prepare swallowing the work
 * platform: cuda
 * problem: linear
 * found: runtime_error launch|nonzero_return
 * without: -, kf_prepare has weights and no inputs
 */
#include <kforge/launch.h>

int kf_prepare(struct kf_call *c)
{
	int64_t n = kf_numel(&c->out[0]);
	void *kept = kf_keep(c, 0, (size_t)n * sizeof(float));

	if (!kept)
		return 1;
	return kf_launch(c, "linear", KF_DIM((n + 63) / 64), KF_DIM(64), 0,
			 KF_BUF(c->in[0]), KF_BUF(kf_weight(c, "weight")),
			 KF_BUF(kf_weight(c, "bias")), KF_BUF(kept), KF_I64(n),
			 KF_I64(c->in[0].shape[1]), KF_I64(c->out[0].shape[1]));
}

int kf_forward(struct kf_call *c)
{
	int64_t bytes = kf_numel(&c->out[0]) * (int64_t)sizeof(float);

	return kf_copy(c, c->out[0], kf_keep(c, 0, (size_t)bytes), bytes);
}
