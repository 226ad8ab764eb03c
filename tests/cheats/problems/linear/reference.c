#include <kforge/reference.h>

int kf_forward(struct kf_call *c)
{
	const kf_real *x = c->in[0].data;
	const kf_real *w = c->weight[0].data, *b = c->weight[1].data;
	kf_real *y = c->out[0].data;

	for (int64_t r = 0; r < ROWS; r++)
		for (int64_t i = 0; i < COLUMNS; i++) {
			kf_real sum = b[i];

			for (int64_t k = 0; k < DEPTH; k++)
				sum += x[r * DEPTH + k] * w[i * DEPTH + k];
			y[r * COLUMNS + i] = sum > 0 ? sum : 0;
		}
	return 0;
}
