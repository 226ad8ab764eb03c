/* The logarithm of the sum of exponentials of a linear layer's results, each
 * row with a temperature of its own. */
#include <kforge/program.h>

#include <math.h>

int kf_forward(struct kf_call *c)
{
	int64_t rows = c->in[0].shape[0], n = c->in[0].shape[1];
	int64_t classes = c->weight[0].shape[0];
	const float *temperature = c->in[1].data;
	const float *w = kf_weight(c, "linear.weight")->data;
	const float *bias = kf_weight(c, "linear.bias")->data;
	double *z = kf_temp(c, (size_t)classes * sizeof(double));

	for (int64_t r = 0; z && r < rows; r++) {
		const float *x = (const float *)c->in[0].data + r * n;
		double largest = -INFINITY, sum = 0;

		for (int64_t k = 0; k < classes; k++) {
			z[k] = bias[k];
			for (int64_t i = 0; i < n; i++)
				z[k] += (double)x[i] * w[k * n + i];
			z[k] /= temperature[r];
			largest = fmax(largest, z[k]);
		}
		for (int64_t k = 0; k < classes; k++)
			sum += exp(z[k] - largest);
		((float *)c->out[0].data)[r] = (float)(largest + log(sum));
	}
	return !z;
}
