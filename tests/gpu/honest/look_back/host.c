/* Running sums in one pass: each group takes the next part of the steps, and
 * looks back at what those before it have published until it knows where to
 * begin (decoupled look-back).
 *
 * class: cross-block waiting
 * problem: problems/c/cumsum_c
 * size: test
 * shapes: STEPS=50 STEPS=700
 * found: correct -
 */
#include <kforge/launch.h>

enum { PART = 16 };	/* steps, the same as in kernels.cu */

int kf_forward(struct kf_call *c)
{
	const struct kf_tensor *in = &c->in[0];
	int64_t batch = in->shape[0], steps = in->shape[1], n = in->shape[2];
	int64_t parts = (steps + PART - 1) / PART, lanes = batch * n;
	int64_t words = 1 + batch * parts;
	void *state = kf_temp(c, (size_t)words * sizeof(int));
	void *sums = kf_temp(c, (size_t)(2 * parts * lanes) * sizeof(float));

	if (!state || !sums)
		return 1;
	kf_zero(c, state, words * (int64_t)sizeof(int));
	return kf_launch(c, "scan", KF_DIM(parts * batch), KF_DIM(n), 0,
			 KF_BUF(in[0]), KF_BUF(c->out[0]), KF_BUF(state),
			 KF_BUF(sums), KF_I64(batch), KF_I64(steps), KF_I64(n));
}
