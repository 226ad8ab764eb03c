/* signal handle|input */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	const float *x = c->in[0].data;

	return kf_launch(c, "axpb", KF_DIM(1), KF_DIM(1), 0, KF_F32(x[3]));
}
