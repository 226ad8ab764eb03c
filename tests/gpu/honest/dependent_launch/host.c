/* The second kernel begins before the first has ended, fetches what does not
 * depend on it, and waits (programmatic dependent launch).
 *
 * class: dependent launch
 * problem: norm
 * found: correct -
 */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	int64_t rows = c->in[0].shape[0], n = c->in[0].shape[1];
	void *found = kf_temp(c, (size_t)rows * 2 * sizeof(float));

	if (!found)
		return 1;
	kf_launch(c, "look", KF_DIM(rows), KF_DIM(32), 0, KF_BUF(c->in[0]),
		  KF_BUF(found), KF_I64(n));
	return kf_launch_with(c, "apply", KF_DIM(rows), KF_DIM(128), 0,
			      ((struct kf_options) { .dependent = 1 }),
			      KF_BUF(c->in[0]), KF_BUF(kf_weight(c, "gain")),
			      KF_BUF(kf_weight(c, "shift")), KF_BUF(found),
			      KF_BUF(c->out[0]), KF_I64(n));
}
