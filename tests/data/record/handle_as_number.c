/* not_repeatable handle|KF_BUF|argument 2|call 1 */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	return kf_launch(c, "axpb", KF_DIM(1), KF_DIM(1), 0, KF_BUF(c->out[0]),
			 KF_U64((uintptr_t)c->in[0].data));
}
