/* load kf_forward */
#include <kforge/launch.h>

int kf_prepare(struct kf_call *c)
{
	(void)c;
	return 0;
}
