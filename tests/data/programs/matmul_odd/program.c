/* The product of two matrices. */
#include <kforge/program.h>

int kf_forward(struct kf_call *c)
{
	int64_t inner = c->in[0].shape[1], columns = c->in[1].shape[1];
	const float *a = c->in[0].data, *b = c->in[1].data;
	float *y = c->out[0].data;

	for (int64_t i = 0; i < kf_numel(&c->out[0]); i++) {
		double sum = 0;

		for (int64_t k = 0; k < inner; k++)
			sum += (double)a[i / columns * inner + k] *
			       b[k * columns + i % columns];
		y[i] = (float)sum;
	}
	return 0;
}
