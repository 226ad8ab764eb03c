/* Each row over its root mean square, times a gain for each feature. */
#include <kforge/reference.h>

#include <tgmath.h>

static const double epsilon = 1e-5;

int kf_forward(struct kf_call *c)
{
	int64_t rows = c->in[0].shape[0], n = c->in[0].shape[1];
	const kf_real *gain = c->weight[0].data;

	for (int64_t row = 0; row < rows; row++) {
		const kf_real *x = (const kf_real *)c->in[0].data + row * n;
		kf_real *y = (kf_real *)c->out[0].data + row * n;
		double squares = 0;
		kf_real scale;

		for (int64_t i = 0; i < n; i++)
			squares += (double)x[i] * (double)x[i];
		scale = (kf_real)(1 / sqrt(squares / (double)n + epsilon));
		for (int64_t i = 0; i < n; i++)
			y[i] = x[i] * scale * gain[i];
	}
	return 0;
}
