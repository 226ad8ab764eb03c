/* launch call 2|grid.y|KF_DIM */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	(void)kf_launch(c, "good", KF_DIM(1), KF_DIM(1), 0);
	(void)kf_launch(c, "axpb", KF_DIM(1, 0), KF_DIM(1), 0);
	return 0;
}
