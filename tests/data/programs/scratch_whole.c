/* Right, and uses every byte of more pieces of scratch in each call than in the
 * one before, some of them of no bytes. */
#include <string.h>

#include <kforge/program.h>

int kf_forward(struct kf_call *c)
{
	static unsigned calls;
	const float *x = c->in[0].data;
	float *y = c->out[0].data;
	int64_t n = kf_numel(&c->in[0]);
	unsigned pieces = 40 * ++calls;

	for (unsigned i = 0; i < pieces; i++) {
		void *piece = kf_temp(c, i * 37);

		if (!piece || (uintptr_t)piece % 256)
			return 1;
		memset(piece, (int)i, i * 37);
	}
	for (int64_t i = 0; i < n; i++)
		y[i] = 2 * x[i] + 1;
	return 0;
}
