#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	int64_t count = kf_numel(&c->out[0]);

	return kf_launch(c, "axpby", KF_DIM((count + 255) / 256), KF_DIM(256),
			 0, KF_BUF(c->in[0]), KF_BUF(c->in[1]),
			 KF_BUF(c->out[0]), KF_F32(c->scalar[0].f),
			 KF_F32(c->scalar[1].f), KF_I64(count));
}
