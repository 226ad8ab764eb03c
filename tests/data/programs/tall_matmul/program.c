/* a' b of two tall matrices. */
#include <kforge/program.h>

int kf_forward(struct kf_call *c)
{
	int64_t rows = c->in[0].shape[0];
	int64_t left = c->in[0].shape[1], right = c->in[1].shape[1];
	const float *a = c->in[0].data, *b = c->in[1].data;
	float *y = c->out[0].data;

	for (int64_t i = 0; i < left * right; i++) {
		double sum = 0;

		for (int64_t k = 0; k < rows; k++)
			sum += (double)a[k * left + i / right] *
			       b[k * right + i % right];
		y[i] = (float)sum;
	}
	return 0;
}
