/* The same scratch holds means first and scales then; the output holds what
 * lies off the mean until it is written again.
 *
 * class: reuse of scratch
 * problem: norm
 * found: correct -
 */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	int64_t rows = c->in[0].shape[0], n = c->in[0].shape[1];
	void *room = kf_temp(c, (size_t)rows * 2 * sizeof(float));
	struct kf_dim all = KF_DIM((rows * n + 127) / 128);
	int64_t half = rows * (int64_t)sizeof(float);

	if (!room)
		return 1;
	kf_launch(c, "means", KF_DIM(1), KF_DIM(rows), 0, KF_BUF(c->in[0]),
		  KF_BUF(room), KF_I64(n));
	kf_launch(c, "less_mean", all, KF_DIM(128), 0, KF_BUF(c->in[0]),
		  KF_BUF(room), KF_BUF(c->out[0]), KF_I64(rows), KF_I64(n));
	kf_launch(c, "scales", KF_DIM(1), KF_DIM(rows), 0, KF_BUF(c->out[0]),
		  KF_BUF_AT(room, half), KF_I64(n));
	kf_copy(c, room, kf_at(room, half), half);
	return kf_launch(c, "finish", all, KF_DIM(128), 0, KF_BUF(room),
			 KF_BUF(kf_weight(c, "gain")),
			 KF_BUF(kf_weight(c, "shift")), KF_BUF(c->out[0]),
			 KF_I64(rows), KF_I64(n));
}
