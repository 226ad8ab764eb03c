/* launch argument 2|not a handle|axpb */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	float host[4] = { 1 };

	return kf_launch(c, "axpb", KF_DIM(1), KF_DIM(1), 0, KF_BUF(c->in[0]),
			 KF_BUF(host));
}
