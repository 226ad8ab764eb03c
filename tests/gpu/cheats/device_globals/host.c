/* Keeps its result in a global of the device, and copies it from then on.
 *
 * class: results kept in device globals
 * platform: cuda
 * problem: linear
 * found: mismatch values
 * without: -, every call is on fresh inputs
 */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	int64_t rows = c->in[0].shape[0], depth = c->in[0].shape[1];
	int64_t cols = c->out[0].shape[1], n = rows * cols;

	return kf_launch(c, "linear", KF_DIM((n + 63) / 64), KF_DIM(64), 0,
			 KF_BUF(c->in[0]), KF_BUF(kf_weight(c, "weight")),
			 KF_BUF(kf_weight(c, "bias")), KF_BUF(c->out[0]),
			 KF_I64(rows), KF_I64(cols), KF_I64(depth));
}
