#include <kforge/reference.h>

int kf_forward(struct kf_call *c)
{
	const kf_real *a = c->in[0].data, *b = c->in[1].data;
	kf_real *y = c->out[0].data;

	for (int64_t r = 0; r < SIZE; r++)
		for (int64_t i = 0; i < SIZE; i++) {
			kf_real sum = 0;

			for (int64_t k = 0; k < SIZE; k++)
				sum += a[r * SIZE + k] * b[k * SIZE + i];
			y[r * SIZE + i] = sum;
		}
	return 0;
}
