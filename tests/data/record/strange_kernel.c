/* launch identifier */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	return kf_launch(c, "axpb<float>", KF_DIM(1), KF_DIM(1), 0);
}
