/* Strassen's seven products of quarters instead of eight.
 *
 * class: Strassen
 * problem: tests/honest/problems/strassen
 * found: correct -
 */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	int64_t half = c->in[0].shape[0] / 2, tiles = half / 16;
	void *m = kf_temp(c, (size_t)(7 * half * half) * sizeof(float));

	if (!m)
		return 1;
	kf_launch(c, "products", KF_DIM(tiles, tiles, 7), KF_DIM(16, 16), 0,
		  KF_BUF(c->in[0]), KF_BUF(c->in[1]), KF_BUF(m), KF_I32(half));
	return kf_launch(c, "combine", KF_DIM(tiles, tiles), KF_DIM(16, 16), 0,
			 KF_BUF(m), KF_BUF(c->out[0]), KF_I32(half));
}
