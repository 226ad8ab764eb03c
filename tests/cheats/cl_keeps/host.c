/* A kernel keeps its result where kf_prepare's are kept, and copies it from
 * the second call on.
 *
 * class: results kept in scratch (a device's)
 * platform: opencl
 * problem: linear
 * found: runtime_error device_fault
 * without: -, what kf_prepare kept is read-only for the kernels of a call
 */
#include <kforge/launch.h>

int kf_prepare(struct kf_call *c)
{
	int64_t n = kf_numel(&c->out[0]) + 1;

	return kf_zero(c, kf_keep(c, 0, (size_t)n * 4), (size_t)n * 4);
}

int kf_forward(struct kf_call *c)
{
	int64_t rows = c->in[0].shape[0], depth = c->in[0].shape[1];
	int64_t cols = c->out[0].shape[1], n = rows * cols;
	void *kept = kf_keep(c, 0, 0);

	if (kf_launch(c, "linear", KF_DIM((n + 63) / 64), KF_DIM(64), 0,
		      KF_BUF(c->in[0]), KF_BUF(kf_weight(c, "weight")),
		      KF_BUF(kf_weight(c, "bias")), KF_BUF(c->out[0]),
		      KF_BUF(kept), KF_I64(rows), KF_I64(cols),
		      KF_I64(depth)))
		return 1;
	return kf_launch(c, "done", KF_DIM(1), KF_DIM(1), 0, KF_BUF(kept),
			 KF_I64(n));
}
