#include <kforge/program.h>

#include <math.h>

static void softmax_row(const float *x, const float *bias, float *y, int64_t n)
{
	float largest = -INFINITY, sum = 0;

	for (int64_t i = 0; i < n; i++) {
		y[i] = x[i] / 8 + bias[i];
		if (y[i] > largest)
			largest = y[i];
	}
	for (int64_t i = 0; i < n; i++) {
		y[i] = expf(y[i] - largest);
		sum += y[i];
	}
	for (int64_t i = 0; i < n; i++)
		y[i] /= sum;
}

int kf_forward(struct kf_call *c)
{
	int64_t rows = c->in[0].shape[0], n = c->in[0].shape[1];
	const float *x = c->in[0].data, *bias = c->weight[0].data;
	float *y = c->out[0].data;

	for (int64_t row = 0; row < rows; row++)
		softmax_row(x + row * n, bias, y + row * n, n);
	return 0;
}
