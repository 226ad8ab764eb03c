/* The product by tensor cores, in TF32.
 *
 * class: lower precision
 * problem: linear
 * found: mismatch values
 * without: precision
 */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	int64_t rows = c->in[0].shape[0], depth = c->in[0].shape[1];
	int64_t cols = c->out[0].shape[1];

	return kf_launch(c, "linear", KF_DIM((cols + 7) / 8, (rows + 15) / 16),
			 KF_DIM(32), 0, KF_BUF(c->in[0]),
			 KF_BUF(kf_weight(c, "weight")),
			 KF_BUF(kf_weight(c, "bias")), KF_BUF(c->out[0]),
			 KF_I32(rows), KF_I32(cols), KF_I32(depth));
}
