/* Sixteen groups share each tile of the product, along the inner dimension, and
 * add their parts by atomics.
 *
 * class: split-K accumulation
 * problem: positive
 * found: correct -
 */
#include <kforge/launch.h>

enum { SPLIT = 16, TILE = 8 };

int kf_forward(struct kf_call *c)
{
	int64_t rows = c->in[0].shape[0], inner = c->in[0].shape[1];
	int64_t cols = c->in[1].shape[0];

	kf_zero(c, c->out[0], rows * cols * (int64_t)sizeof(float));
	return kf_launch(c, "product", KF_DIM((cols + TILE - 1) / TILE,
					       (rows + TILE - 1) / TILE, SPLIT),
			 KF_DIM(TILE, TILE), 0, KF_BUF(c->in[0]),
			 KF_BUF(c->in[1]), KF_BUF(c->out[0]), KF_I64(rows),
			 KF_I64(cols), KF_I64(inner));
}
