/* The sum of both inputs to mean 0 and variance 1 in each row. */
#include <kforge/program.h>

#include <math.h>

int kf_forward(struct kf_call *c)
{
	int64_t rows = c->in[0].shape[0], n = c->in[0].shape[1];
	const float *gain = c->weight[0].data, *shift = c->weight[1].data;

	for (int64_t r = 0; r < rows; r++) {
		const float *x = (const float *)c->in[0].data + r * n;
		const float *z = (const float *)c->in[1].data + r * n;
		float *y = (float *)c->out[0].data + r * n;
		double sum = 0, square = 0;

		for (int64_t i = 0; i < n; i++)
			sum += (double)x[i] + z[i];
		for (int64_t i = 0; i < n; i++) {
			double d = (double)x[i] + z[i] - sum / (double)n;

			square += d * d;
		}
		for (int64_t i = 0; i < n; i++)
			y[i] = (float)(((double)x[i] + z[i] - sum / (double)n) /
				       sqrt(square / (double)n + 1e-5) *
				       gain[i] + shift[i]);
	}
	return 0;
}
