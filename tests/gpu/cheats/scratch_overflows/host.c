/* Right, and one element more than the scratch that it asked for.
 *
 * class: memory of others
 * problem: linear
 * found: runtime_error device_fault
 * without: -, guards around scratch, looked at on the device after every call
 */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	int64_t n = kf_numel(&c->out[0]);
	void *room = kf_temp(c, (size_t)n * sizeof(float));

	if (!room)
		return 1;
	kf_launch(c, "linear", KF_DIM((n + 63) / 64), KF_DIM(64), 0,
		  KF_BUF(c->in[0]), KF_BUF(kf_weight(c, "weight")),
		  KF_BUF(kf_weight(c, "bias")), KF_BUF(room), KF_I64(n),
		  KF_I64(c->in[0].shape[1]), KF_I64(c->out[0].shape[1]));
	return kf_copy(c, c->out[0], room, n * (int64_t)sizeof(float));
}
