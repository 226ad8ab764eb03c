/* The largest of floats by an atomic for integers: as integers they are in the
 * same order, negative ones turned round.
 *
 * class: atomics
 * problem: problems/c/max_axis_c
 * size: test
 * found: correct -
 */
#include <kforge/launch.h>
#include <limits.h>

int kf_forward(struct kf_call *c)
{
	const struct kf_tensor *in = &c->in[0];
	int64_t days = in->shape[0], hours = in->shape[1], n = in->shape[2];
	int64_t all = days * hours * n;

	kf_fill32(c, c->out[0], INT_MIN, days * n);
	kf_launch(c, "largest", KF_DIM((all + 127) / 128), KF_DIM(128), 0,
		  KF_BUF(in[0]), KF_BUF(kf_weight(c, "offset")),
		  KF_BUF(c->out[0]), KF_I64(all), KF_I64(hours), KF_I64(n));
	return kf_launch(c, "to_floats", KF_DIM((days * n + 127) / 128),
			 KF_DIM(128), 0, KF_BUF(c->out[0]), KF_I64(days * n));
}
