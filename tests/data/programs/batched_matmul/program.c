/* a b' of each pair. */
#include <kforge/program.h>

int kf_forward(struct kf_call *c)
{
	int64_t rows = c->in[0].shape[1], inner = c->in[0].shape[2];
	int64_t columns = c->in[1].shape[1];
	const float *a = c->in[0].data, *b = c->in[1].data;
	float *y = c->out[0].data;

	for (int64_t i = 0; i < kf_numel(&c->out[0]); i++) {
		int64_t row = i / columns;
		int64_t column = row / rows * columns + i % columns;
		double sum = 0;

		for (int64_t k = 0; k < inner; k++)
			sum += (double)a[row * inner + k] *
			       b[column * inner + k];
		y[i] = (float)sum;
	}
	return 0;
}
