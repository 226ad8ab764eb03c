/* good */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	for (int i = 0; i < 20000; i++)
		if (kf_launch(c, "step", KF_DIM(1), KF_DIM(1), 0, KF_I32(i)))
			return 1;
	return 0;
}
