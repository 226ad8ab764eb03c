/* Tensors begin at 256 bytes, and their elements are a multiple of 4. */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	int64_t n = kf_numel(&c->in[0]) / 4;

	return kf_launch(c, "relu", KF_DIM((n + 255) / 256), KF_DIM(256), 0,
			 KF_BUF(c->in[0]), KF_BUF(c->out[0]), KF_I64(n));
}
