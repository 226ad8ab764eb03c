/* signal handle|output */
#include <kforge/launch.h>
#include <string.h>

int kf_forward(struct kf_call *c)
{
	memset(c->out[0].data, 0, 64);
	return 0;
}
