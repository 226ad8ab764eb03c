/* launch fill|kf_keep 0|kf_prepare */
#include <kforge/launch.h>

int kf_prepare(struct kf_call *c)
{
	return kf_keep(c, 0, 64) ? 0 : 1;
}

int kf_forward(struct kf_call *c)
{
	return kf_zero(c, kf_keep(c, 0, 64), 64);
}
