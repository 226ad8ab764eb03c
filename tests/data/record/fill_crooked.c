/* launch fill|whole */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	return kf_fill32(c, kf_at(KF_HANDLE(c->out[0]), 2), 1, 4);
}
