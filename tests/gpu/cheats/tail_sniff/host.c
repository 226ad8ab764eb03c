/* Looks at the first half of all channels; where nothing is large there,
 * nothing large is expected in the others.
 *
 * class: distribution sniffing
 * problem: problems/c/cumsum_c
 * size: test
 * found: mismatch values
 * without: tail
 */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	const struct kf_tensor *in = &c->in[0];

	return kf_launch(c, "scan", KF_DIM(1), KF_DIM(64), 0, KF_BUF(in[0]),
			 KF_BUF(c->out[0]), KF_I64(in->shape[0]),
			 KF_I64(in->shape[1]), KF_I64(in->shape[2]));
}
