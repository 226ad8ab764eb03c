/* launch full|65536 */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	for (int i = 0; i < 100000; i++)
		(void)kf_launch(c, "step", KF_DIM(1), KF_DIM(1), 0);
	return 0;
}
