/* Two convolutions with ReLU and pooling, and a linear layer. */
#include <kforge/program.h>

#include <math.h>

/* max_pool2d(relu(conv(x)), 2) of a square picture of that side. */
static void stage(const float *x, float *y, const struct kf_tensor *weight,
		  const struct kf_tensor *bias, int64_t side)
{
	int64_t from = weight->shape[1], half = side / 2;
	const float *w = weight->data;

	for (int64_t i = 0; i < weight->shape[0] * half * half * 4; i++) {
		int64_t at = i / 4, to = at / half / half;
		int64_t h = at / half % half * 2 + i % 4 / 2;
		int64_t v = at % half * 2 + i % 2;
		double sum = ((const float *)bias->data)[to];

		for (int64_t t = 0; t < from * 9; t++) {
			int64_t a = h + t / 3 % 3 - 1, b = v + t % 3 - 1;

			if (a >= 0 && b >= 0 && a < side && b < side)
				sum += (double)x[(t / 9 * side + a) * side +
						 b] * w[to * from * 9 + t];
		}
		y[at] = fmaxf(i % 4 ? y[at] : 0, (float)sum);
	}
}

int kf_forward(struct kf_call *c)
{
	const int64_t *in = c->in[0].shape;
	int64_t side = in[2], classes = c->out[0].shape[1];
	int64_t many = kf_weight(c, "second.weight")->shape[0];
	int64_t flat = many * (side / 4) * (side / 4);
	const float *w = kf_weight(c, "last.weight")->data;
	const float *bias = kf_weight(c, "last.bias")->data;
	float *a = kf_temp(c, (size_t)(many * side * side) * sizeof(float));
	float *b = kf_temp(c, (size_t)flat * sizeof(float));

	if (!a || !b)
		return 1;
	for (int64_t i = 0; i < in[0]; i++) {
		stage((const float *)c->in[0].data + i * 3 * side * side, a,
		      kf_weight(c, "first.weight"),
		      kf_weight(c, "first.bias"), side);
		stage(a, b, kf_weight(c, "second.weight"),
		      kf_weight(c, "second.bias"), side / 2);
		for (int64_t k = 0; k < classes; k++) {
			double sum = bias[k];

			for (int64_t j = 0; j < flat; j++)
				sum += (double)b[j] * w[k * flat + j];
			((float *)c->out[0].data)[i * classes + k] =
				(float)sum;
		}
	}
	return 0;
}
