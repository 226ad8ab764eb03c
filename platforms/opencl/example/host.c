/* One launch: a group of 64 work-items for each row. */
#include <kforge/launch.h>

#define GROUP 64

int kf_forward(struct kf_call *c)
{
	int64_t rows = c->in[0].shape[0], n = c->in[0].shape[1];

	return kf_launch(c, "scale_row", KF_DIM(rows), KF_DIM(GROUP), 0,
			 KF_BUF(c->in[0]), KF_BUF(kf_weight(c, "gain")),
			 KF_BUF(kf_weight(c, "shift")), KF_BUF(c->out[0]),
			 KF_I32(n), KF_LOCAL(GROUP * sizeof(float)));
}
