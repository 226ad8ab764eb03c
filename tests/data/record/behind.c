/* launch byte 6148|input 0|6144 */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	return kf_launch(c, "axpb", KF_DIM(1), KF_DIM(1), 0,
			 KF_BUF_AT(c->in[0], 24 * 64 * 4 + 4));
}
