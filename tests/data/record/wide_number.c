/* launch argument 1|fit */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	return kf_launch(c, "axpb", KF_DIM(1), KF_DIM(1), 0, KF_I32(5000000000));
}
