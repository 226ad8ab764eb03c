/* The product by tensor cores, in half precision.
 *
 * class: lower precision
 * problem: tests/honest/problems/strassen
 * found: mismatch values
 * without: precision
 */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	int64_t n = c->in[0].shape[0];

	return kf_launch(c, "product", KF_DIM(n / 16, n / 16), KF_DIM(32), 0,
			 KF_BUF(c->in[0]), KF_BUF(c->in[1]), KF_BUF(c->out[0]),
			 KF_I32(n));
}
