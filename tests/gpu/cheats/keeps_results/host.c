/* A kernel keeps its result where kf_prepare's are kept, and copies it from the
 * second call on.
 *
 * class: results kept in scratch
 * problem: linear
 * found: runtime_error device_fault
 * without: -, what kf_prepare kept is read-only for the kernels of a call
 */
#include <kforge/launch.h>

int kf_prepare(struct kf_call *c)
{
	int64_t bytes = kf_numel(&c->out[0]) * 2 * (int64_t)sizeof(float);
	void *kept = kf_keep(c, 0, (size_t)bytes);

	return kept ? kf_zero(c, kept, bytes) : 1;
}

int kf_forward(struct kf_call *c)
{
	int64_t n = kf_numel(&c->out[0]);
	void *kept = kf_keep(c, 0, (size_t)n * 2 * sizeof(float));

	return kf_launch(c, "linear", KF_DIM((n + 63) / 64), KF_DIM(64), 0,
			 KF_BUF(c->in[0]), KF_BUF(kf_weight(c, "weight")),
			 KF_BUF(kf_weight(c, "bias")), KF_BUF(c->out[0]),
			 KF_BUF(kept), KF_I64(n), KF_I64(c->in[0].shape[1]),
			 KF_I64(c->out[0].shape[1]));
}
