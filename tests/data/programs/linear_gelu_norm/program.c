/* norm(x + gelu(linear(x))) */
#include <kforge/program.h>

#include <math.h>

int kf_forward(struct kf_call *c)
{
	int64_t rows = c->in[0].shape[0], n = c->in[0].shape[1];
	const float *w = kf_weight(c, "linear.weight")->data;
	const float *bias = kf_weight(c, "linear.bias")->data;
	const float *gain = kf_weight(c, "norm.weight")->data;
	const float *shift = kf_weight(c, "norm.bias")->data;
	double *z = kf_temp(c, (size_t)n * sizeof(double));

	for (int64_t r = 0; z && r < rows; r++) {
		const float *x = (const float *)c->in[0].data + r * n;
		float *y = (float *)c->out[0].data + r * n;
		double sum = 0, square = 0;

		for (int64_t i = 0; i < n; i++) {
			double h = bias[i];

			for (int64_t k = 0; k < n; k++)
				h += (double)x[k] * w[i * n + k];
			z[i] = x[i] + h * 0.5 * (1 + erf(h * sqrt(0.5)));
			sum += z[i];
		}
		for (int64_t i = 0; i < n; i++) {
			z[i] -= sum / (double)n;
			square += z[i] * z[i];
		}
		for (int64_t i = 0; i < n; i++)
			y[i] = (float)(z[i] / sqrt(square / (double)n + 1e-5) *
				       gain[i] + shift[i]);
	}
	return !z;
}
