#include <kforge/launch.h>

int kf_prepare(struct kf_call *c)
{
	int64_t n = kf_numel(&c->weight[0]);
	void *kept = kf_keep(c, 0, (size_t)n * 4);

	return kf_copy(c, kept, c->weight[0], n * 4);
}

int kf_forward(struct kf_call *c)
{
	int64_t n = kf_numel(&c->in[0]);
	void *scratch = kf_temp(c, (size_t)n * 4);

	/* More shared memory than a kernel has unasked, then less. */
	for (unsigned shared = 100000; shared; shared = shared > 1024 ? 1024 : 0)
		kf_launch(c, "multiply", KF_DIM((n + 255) / 256), KF_DIM(256),
			  shared, KF_BUF(c->in[1]), KF_BUF(kf_keep(c, 0, 0)),
			  KF_BUF(scratch), KF_I64(n));
	return kf_launch(c, "axpby", KF_DIM((n + 255) / 256), KF_DIM(256), 0,
			 KF_BUF(c->in[0]), KF_BUF(scratch), KF_BUF(c->out[0]),
			 KF_F32(1.5), KF_F32(-0.75), KF_I64(n));
}
