/* Hands a pointer of its own to a kernel.
 *
 * platform: cuda
 * problem: linear
 * found: runtime_error launch
 */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	static float mine[960];

	return kf_launch(c, "linear", KF_DIM(15), KF_DIM(64), 0,
			 KF_BUF(mine), KF_BUF(kf_weight(c, "weight")),
			 KF_BUF(kf_weight(c, "bias")), KF_BUF(c->out[0]),
			 KF_I64(960), KF_I64(300), KF_I64(40));
}
