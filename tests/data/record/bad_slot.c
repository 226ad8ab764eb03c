/* launch slot 16 */
#include <kforge/launch.h>

int kf_prepare(struct kf_call *c)
{
	return kf_keep(c, 0, 64) ? 0 : 1;
}

int kf_forward(struct kf_call *c)
{
	return kf_keep(c, 16, 64) ? 0 : 1;
}
