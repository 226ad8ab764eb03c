/* launch argument 1|gone */
#include <kforge/launch.h>

static void *scratch;

int kf_prepare(struct kf_call *c)
{
	scratch = kf_temp(c, 64);
	return 0;
}

int kf_forward(struct kf_call *c)
{
	return kf_launch(c, "axpb", KF_DIM(1), KF_DIM(1), 0, KF_BUF(scratch));
}
