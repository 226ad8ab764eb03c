/* launch kf_temp|1048576|together */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	return kf_temp(c, 900000) && kf_temp(c, 200000) ? 0 : 1;
}
