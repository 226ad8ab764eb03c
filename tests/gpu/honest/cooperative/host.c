/* One launch whose groups wait for each other twice: a barrier of the grid.
 *
 * class: cooperative launch
 * problem: shares
 * found: correct -
 */
#include <kforge/launch.h>

enum { GROUPS = 8 };	/* for each row */

int kf_forward(struct kf_call *c)
{
	int64_t rows = c->in[0].shape[0], n = c->in[0].shape[1];
	int64_t floats = rows * GROUPS * (int64_t)sizeof(float);
	void *count = kf_temp(c, sizeof(unsigned));
	void *largest = kf_temp(c, (size_t)floats);
	void *sum = kf_temp(c, (size_t)floats);

	if (!count || !largest || !sum)
		return 1;
	kf_zero(c, count, (int64_t)sizeof(unsigned));
	return kf_launch_with(c, "softmax", KF_DIM(GROUPS, rows), KF_DIM(256),
			      0, ((struct kf_options) { .cooperative = 1 }),
			      KF_BUF(c->in[0]), KF_BUF(c->out[0]),
			      KF_BUF(largest), KF_BUF(sum), KF_BUF(count),
			      KF_I64(n));
}
