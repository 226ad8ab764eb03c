/* Three linear layers with GELU between them. */
#include <kforge/program.h>

#include <math.h>

static void layer(struct kf_call *c, int which, const float *x, float *y,
		  int64_t rows, int activate)
{
	const struct kf_tensor *weight = &c->weight[2 * which];
	int64_t to = weight->shape[0], from = weight->shape[1];
	const float *w = weight->data, *bias = c->weight[2 * which + 1].data;

	for (int64_t i = 0; i < rows * to; i++) {
		double sum = bias[i % to];

		for (int64_t k = 0; k < from; k++)
			sum += (double)x[i / to * from + k] *
			       w[i % to * from + k];
		if (activate)
			sum *= 0.5 * (1 + erf(sum * sqrt(0.5)));
		y[i] = (float)sum;
	}
}

int kf_forward(struct kf_call *c)
{
	int64_t rows = c->in[0].shape[0], hidden = c->weight[0].shape[0];
	size_t bytes = (size_t)(rows * hidden) * sizeof(float);
	float *a = kf_temp(c, bytes), *b = kf_temp(c, bytes);

	if (!a || !b)
		return 1;
	layer(c, 0, c->in[0].data, a, rows, 1);
	layer(c, 1, a, b, rows, 1);
	layer(c, 2, b, c->out[0].data, rows, 0);
	return 0;
}
