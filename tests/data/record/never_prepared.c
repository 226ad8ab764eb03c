/* launch kf_keep|slot 2 */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	return kf_keep(c, 2, 64) ? 0 : 1;
}
