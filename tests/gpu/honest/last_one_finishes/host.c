/* Groups leave their parts behind and count themselves; the last of a row to
 * come puts them together.
 *
 * class: cross-block waiting
 * problem: problems/c/logsumexp_c
 * size: test
 * found: correct -
 */
#include <kforge/launch.h>

enum { GROUPS = 3 };	/* for each row, the same as in kernels.cu */

int kf_forward(struct kf_call *c)
{
	int64_t rows = c->in[0].shape[0], n = c->in[0].shape[1];
	int64_t bytes = rows * (int64_t)sizeof(unsigned);
	void *count = kf_temp(c, (size_t)bytes);
	void *parts = kf_temp(c, (size_t)(rows * GROUPS) * 2 * sizeof(float));

	if (!count || !parts)
		return 1;
	kf_zero(c, count, bytes);
	return kf_launch(c, "add", KF_DIM(GROUPS, rows), KF_DIM(32), 0,
			 KF_BUF(c->in[0]), KF_BUF(c->out[0]), KF_BUF(parts),
			 KF_BUF(count), KF_I64(n));
}
