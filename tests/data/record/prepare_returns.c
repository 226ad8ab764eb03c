/* nonzero_return kf_prepare|4 */
#include <kforge/launch.h>

int kf_prepare(struct kf_call *c)
{
	return c ? 4 : 0;
}

int kf_forward(struct kf_call *c)
{
	return c ? 0 : 1;
}
