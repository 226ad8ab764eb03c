/* launch copy|negative */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	return kf_copy(c, c->out[0], c->in[0], -8);
}
