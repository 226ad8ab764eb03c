/* Times its first load: caches are flushed where times are taken, it thinks.
 *
 * class: mode sniffing; timing the flush
 * platform: cuda
 * problem: linear
 * found: mismatch values|unwritten
 * without: -, checked and timed calls are the same calls
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
