/* softmax(scores / 8 + bias) of each row. */
#include <kforge/reference.h>

#include <tgmath.h>

static void softmax_row(const kf_real *x, const kf_real *bias, kf_real *y,
			int64_t n)
{
	kf_real largest = x[0] / 8 + bias[0];
	double sum = 0;

	for (int64_t i = 0; i < n; i++) {
		y[i] = x[i] / 8 + bias[i];
		if (y[i] > largest)
			largest = y[i];
	}
	for (int64_t i = 0; i < n; i++) {
		y[i] = exp(y[i] - largest);
		sum += y[i];
	}
	for (int64_t i = 0; i < n; i++)
		y[i] /= (kf_real)sum;
}

int kf_forward(struct kf_call *c)
{
	int64_t rows = c->in[0].shape[0], n = c->in[0].shape[1];
	const kf_real *x = c->in[0].data, *bias = c->weight[0].data;
	kf_real *y = c->out[0].data;

	for (int64_t row = 0; row < rows; row++)
		softmax_row(x + row * n, bias, y + row * n, n);
	return 0;
}
