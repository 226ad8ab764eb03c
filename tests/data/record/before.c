/* launch byte -4|input 0 */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	return kf_launch(c, "axpb", KF_DIM(1), KF_DIM(1), 0,
			 KF_BUF_AT(c->in[0], -4));
}
