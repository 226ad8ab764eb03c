/* Each row over the root of its mean square. */
#include <kforge/program.h>

#include <math.h>

int kf_forward(struct kf_call *c)
{
	int64_t rows = c->in[0].shape[0], n = c->in[0].shape[1];
	const float *gain = c->weight[0].data;

	for (int64_t r = 0; r < rows; r++) {
		const float *x = (const float *)c->in[0].data + r * n;
		float *y = (float *)c->out[0].data + r * n;
		double square = 0;

		for (int64_t i = 0; i < n; i++)
			square += (double)x[i] * x[i];
		for (int64_t i = 0; i < n; i++)
			y[i] = (float)(x[i] / sqrt(square / (double)n + 1e-5) *
				       gain[i]);
	}
	return 0;
}
