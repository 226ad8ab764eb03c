/* launch argument 1|kind */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	struct kf_arg arg = { 77, 8, { 0 } };

	return kf_launch(c, "axpb", KF_DIM(1), KF_DIM(1), 0, arg);
}
