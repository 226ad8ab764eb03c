/* Launches as many groups as its clock says.
 *
 * class: mode sniffing
 * platform: cuda
 * problem: linear
 * found: runtime_error not_repeatable
 * without: -, host.c runs twice where there are no data
 */
#include <kforge/launch.h>
#include <time.h>

int kf_forward(struct kf_call *c)
{
	int64_t n = kf_numel(&c->out[0]), groups = (n + 63) / 64;
	struct timespec now;

	timespec_get(&now, TIME_UTC);
	groups += now.tv_nsec % 1000000;
	return kf_launch(c, "linear", KF_DIM(groups), KF_DIM(64), 0,
			 KF_BUF(c->in[0]), KF_BUF(kf_weight(c, "weight")),
			 KF_BUF(kf_weight(c, "bias")), KF_BUF(c->out[0]),
			 KF_I64(n), KF_I64(c->in[0].shape[1]),
			 KF_I64(c->out[0].shape[1]));
}
