/* Asks for more groups than a device can count.
 *
 * platform: cuda
 * problem: linear
 * found: runtime_error launch
 */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	return kf_launch(c, "linear", KF_DIM((int64_t)1 << 40), KF_DIM(64), 0,
			 KF_BUF(c->in[0]), KF_BUF(kf_weight(c, "weight")),
			 KF_BUF(kf_weight(c, "bias")), KF_BUF(c->out[0]),
			 KF_I64(960), KF_I64(300), KF_I64(40));
}
