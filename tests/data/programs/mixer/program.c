/* Two perceptrons with normalised input and a way around them: one over
 * patches, one over channels. */
#include <kforge/program.h>

#include <math.h>
#include <stdio.h>

static const float *weight(struct kf_call *c, const char *part,
			   const char *name)
{
	char whole[64];

	snprintf(whole, sizeof(whole), "%s%s", part, name);
	return kf_weight(c, whole)->data;
}

static void norm(struct kf_call *c, const char *part, const float *x,
		 double *y, int64_t rows, int64_t n)
{
	const float *gain = weight(c, part, "_norm.weight");
	const float *shift = weight(c, part, "_norm.bias");

	for (int64_t r = 0; r < rows; r++, x += n, y += n) {
		double mean = 0, square = 0;

		for (int64_t i = 0; i < n; i++)
			mean += x[i] / (double)n;
		for (int64_t i = 0; i < n; i++)
			square += (x[i] - mean) * (x[i] - mean) / (double)n;
		for (int64_t i = 0; i < n; i++)
			y[i] = (x[i] - mean) / sqrt(square + 1e-5) * gain[i] +
			       shift[i];
	}
}

/* Adds down(gelu(up(x))) to y; elements lie that many apart. */
static void perceptron(struct kf_call *c, const char *part, const double *x,
		       float *y, double *h, int64_t n, int64_t apart)
{
	const float *up = weight(c, part, ".up.weight");
	const float *up_bias = weight(c, part, ".up.bias");
	const float *down = weight(c, part, ".down.weight");
	const float *down_bias = weight(c, part, ".down.bias");

	for (int64_t j = 0; j < 2 * n; j++) {
		h[j] = up_bias[j];
		for (int64_t i = 0; i < n; i++)
			h[j] += x[i * apart] * up[j * n + i];
		h[j] *= 0.5 * (1 + erf(h[j] * sqrt(0.5)));
	}
	for (int64_t i = 0; i < n; i++) {
		double sum = down_bias[i];

		for (int64_t j = 0; j < 2 * n; j++)
			sum += h[j] * down[i * 2 * n + j];
		y[i * apart] += (float)sum;
	}
}

int kf_forward(struct kf_call *c)
{
	int64_t patches = c->in[0].shape[1], n = c->in[0].shape[2];
	int64_t rows = c->in[0].shape[0] * patches;
	int64_t longest = patches > n ? patches : n;
	const float *x = c->in[0].data;
	float *y = c->out[0].data;
	double *z = kf_temp(c, (size_t)(rows * n) * sizeof(double));
	double *h = kf_temp(c, (size_t)(2 * longest) * sizeof(double));

	if (!z || !h)
		return 1;
	for (int64_t i = 0; i < rows * n; i++)
		y[i] = x[i];
	norm(c, "patch", x, z, rows, n);
	for (int64_t i = 0; i < rows / patches * n; i++) {
		int64_t at = i / n * patches * n + i % n;

		perceptron(c, "patch", z + at, y + at, h, patches, n);
	}
	norm(c, "channel", y, z, rows, n);
	for (int64_t r = 0; r < rows; r++)
		perceptron(c, "channel", z + r * n, y + r * n, h, n, 1);
	return 0;
}
