/* nonzero_return kf_forward|3 */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	return c ? 3 : 0;
}
