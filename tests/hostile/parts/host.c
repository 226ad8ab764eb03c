#define _GNU_SOURCE
#include <kforge/launch.h>
HERE_TEXT
int kf_forward(struct kf_call *c)
{
	int64_t n = kf_numel(&c->out[0]);

	if (HERE_IN_FORWARD)
		return 66;
	return kf_launch(c, "axpby", KF_DIM((n + 255) / 256), KF_DIM(256), 0,
			 KF_BUF(c->in[0]), KF_BUF(c->in[1]), KF_BUF(c->out[0]),
			 KF_F32(c->scalar[0].f), KF_F32(c->scalar[1].f),
			 KF_I64(n));
}
