/* signal handle|kf_temp|kf_prepare */
#include <kforge/launch.h>

int kf_prepare(struct kf_call *c)
{
	volatile int *counter = kf_temp(c, 4);

	return *counter;
}

int kf_forward(struct kf_call *c)
{
	(void)c;
	return 0;
}
