/* good */
#include <kforge/launch.h>

/* Floats as what they are; integers of any kind as 32 bits. */
int kf_forward(struct kf_call *c)
{
	return kf_fill32(c, c->out[0], -0.5f, 1) ||
	       kf_fill32(c, c->out[0], 2.0, 1) ||
	       kf_fill32(c, c->out[0], -1, 1) ||
	       kf_fill32(c, c->out[0], 0xff800000u, 1);
}
