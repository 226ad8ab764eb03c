/* Each row of x + residual, less its mean, over its deviation; then a gain and
 * a shift for each feature. */
#include <kforge/reference.h>

#include <tgmath.h>

static const double epsilon = 1e-5;

static void norm_row(const kf_real *x, const kf_real *residual,
		     const kf_real *gain, const kf_real *shift, kf_real *y,
		     int64_t n)
{
	double sum = 0, squares = 0;
	kf_real mean, scale;

	for (int64_t i = 0; i < n; i++) {
		y[i] = x[i] + residual[i];
		sum += y[i];
	}
	mean = (kf_real)(sum / (double)n);
	for (int64_t i = 0; i < n; i++)
		squares += (double)(y[i] - mean) * (double)(y[i] - mean);
	scale = (kf_real)(1 / sqrt(squares / (double)n + epsilon));
	for (int64_t i = 0; i < n; i++)
		y[i] = (y[i] - mean) * scale * gain[i] + shift[i];
}

int kf_forward(struct kf_call *c)
{
	int64_t rows = c->in[0].shape[0], n = c->in[0].shape[1];
	const kf_real *x = c->in[0].data, *residual = c->in[1].data;
	const kf_real *gain = c->weight[0].data, *shift = c->weight[1].data;
	kf_real *y = c->out[0].data;

	for (int64_t at = 0; at < rows * n; at += n)
		norm_row(x + at, residual + at, gain, shift, y + at, n);
	return 0;
}
