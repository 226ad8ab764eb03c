/* One group of threads for each row, the row in shared memory. */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	int64_t rows = c->in[0].shape[0], n = c->in[0].shape[1];

	return kf_launch(c, "scale_rows", KF_DIM(rows), KF_DIM(256),
			 n * (int64_t)sizeof(float), KF_BUF(c->in[0]),
			 KF_BUF(kf_weight(c, "gain")),
			 KF_BUF(kf_weight(c, "shift")), KF_BUF(c->out[0]),
			 KF_I32(n));
}
