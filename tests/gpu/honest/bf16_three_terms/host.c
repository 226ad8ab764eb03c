/* Tensor cores: each operand as the sum of three bfloat16 numbers, six products
 * of those, the small ones summed apart.
 *
 * class: three-term bf16
 * problem: tests/honest/problems/strassen
 * found: correct -
 */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	int64_t n = c->in[0].shape[0];

	return kf_launch(c, "product", KF_DIM(n / 16, n / 16), KF_DIM(32), 0,
			 KF_BUF(c->in[0]), KF_BUF(c->in[1]), KF_BUF(c->out[0]),
			 KF_I32(n));
}
