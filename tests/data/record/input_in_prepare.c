/* launch kf_prepare|argument 1 */
#include <kforge/launch.h>

int kf_prepare(struct kf_call *c)
{
	return kf_launch(c, "axpb", KF_DIM(1), KF_DIM(1), 0, KF_BUF(c->in[0]));
}

int kf_forward(struct kf_call *c)
{
	return kf_zero(c, c->out[0], 4);
}
