/* Launches as many groups as its clock says.
 *
 * class: mode sniffing (host.c)
 * platform: opencl
 * problem: linear
 * found: runtime_error not_repeatable
 * without: -, host.c runs twice where there are no data
 */
#include <kforge/launch.h>
#include <time.h>

int kf_forward(struct kf_call *c)
{
	int64_t rows = c->in[0].shape[0], depth = c->in[0].shape[1];
	int64_t cols = c->out[0].shape[1], n = rows * cols;
	struct timespec now;

	timespec_get(&now, TIME_UTC);
	n += now.tv_nsec % 1000000;

	return kf_launch(c, "linear", KF_DIM((n + 63) / 64), KF_DIM(64), 0,
			 KF_BUF(c->in[0]), KF_BUF(kf_weight(c, "weight")),
			 KF_BUF(kf_weight(c, "bias")), KF_BUF(c->out[0]),
			 KF_I64(rows), KF_I64(cols), KF_I64(depth));
}
