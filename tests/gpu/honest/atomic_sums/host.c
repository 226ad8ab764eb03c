/* Warps add their parts of each mean to it as they come, in any order.
 *
 * class: atomics
 * problem: mean
 * found: correct -
 */
#include <kforge/launch.h>

enum { PART = 1024 };

int kf_forward(struct kf_call *c)
{
	int64_t rows = c->in[0].shape[0], n = c->in[0].shape[1];

	kf_zero(c, c->out[0], rows * (int64_t)sizeof(float));
	return kf_launch(c, "add", KF_DIM((n + PART - 1) / PART, rows),
			 KF_DIM(256), 0, KF_BUF(c->in[0]), KF_BUF(c->out[0]),
			 KF_I64(n));
}
