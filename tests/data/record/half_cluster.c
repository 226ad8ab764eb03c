/* launch cluster.y */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	return kf_launch_with(c, "axpb", KF_DIM(2), KF_DIM(1), 0,
			      ((struct kf_options) { .cluster = { 2, 0, 0 } }));
}
