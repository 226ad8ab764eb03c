/* Four groups of a cluster share a row and read each other's shared memory.
 *
 * class: clusters, distributed shared memory
 * problem: shares
 * found: correct -
 */
#include <kforge/launch.h>

enum { SIZE = 4 };

int kf_forward(struct kf_call *c)
{
	int64_t rows = c->in[0].shape[0], n = c->in[0].shape[1];

	return kf_launch_with(c, "softmax", KF_DIM(rows * SIZE), KF_DIM(256), 0,
			      ((struct kf_options) {
					.cluster = KF_DIM(SIZE) }),
			      KF_BUF(c->in[0]), KF_BUF(c->out[0]), KF_I64(n));
}
