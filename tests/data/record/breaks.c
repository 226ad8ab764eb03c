/* signal no memory can have */
#include <kforge/launch.h>
#include <string.h>

int kf_forward(struct kf_call *c)
{
	memset(c->owner, 0x55, 4096);
	return 0;
}
