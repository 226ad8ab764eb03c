/* Asks for launches without end.
 *
 * platform: cuda
 * problem: linear
 * found: runtime_error launch
 */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	int bad = 0;

	while (!bad)
		bad = kf_launch(c, "linear", KF_DIM(15), KF_DIM(64), 0,
				KF_BUF(c->in[0]),
				KF_BUF(kf_weight(c, "weight")),
				KF_BUF(kf_weight(c, "bias")), KF_BUF(c->out[0]),
				KF_I64(960), KF_I64(300), KF_I64(40));
	return 0;
}
