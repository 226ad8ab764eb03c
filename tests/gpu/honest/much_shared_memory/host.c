/* A whole row of 30,000 floats in shared memory, read from there twice.
 *
 * class: dynamic shared memory
 * problem: shares
 * found: correct -
 */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	int64_t rows = c->in[0].shape[0], n = c->in[0].shape[1];

	return kf_launch(c, "softmax", KF_DIM(rows), KF_DIM(512),
			 n * (int64_t)sizeof(float), KF_BUF(c->in[0]),
			 KF_BUF(c->out[0]), KF_I32(n));
}
