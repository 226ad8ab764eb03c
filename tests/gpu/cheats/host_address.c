/* Hands the address of its input on as a number, to reach what lies beside it.
 *
 * class: memory of others
 * platform: cuda
 * problem: linear
 * found: runtime_error not_repeatable
 * without: -, host.c runs twice, with other handles
 */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	intptr_t beside = (intptr_t)c->in[0].data - 4096;

	return kf_launch(c, "linear", KF_DIM(15), KF_DIM(64), 0,
			 KF_I64(beside), KF_BUF(kf_weight(c, "weight")),
			 KF_BUF(kf_weight(c, "bias")), KF_BUF(c->out[0]),
			 KF_I64(kf_numel(&c->out[0])),
			 KF_I64(c->in[0].shape[1]), KF_I64(c->out[0].shape[1]));
}
