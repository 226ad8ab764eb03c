/* Two convolutions with batch statistics taken out, and a convolution of one
 * point around both. */
#include <kforge/program.h>

#include <math.h>
#include <stdio.h>

static const struct kf_tensor *weight(struct kf_call *c, const char *part,
				      const char *name)
{
	char whole[64];

	snprintf(whole, sizeof(whole), "%s%s", part, name);
	return kf_weight(c, whole);
}

static double value(const struct kf_tensor *t, int64_t i)
{
	return ((const float *)t->data)[i];
}

/* Adds to y, which has side out; x has side in. */
static void block(struct kf_call *c, const char *part, const float *x,
		  double *y, int64_t in, int64_t out, int64_t stride)
{
	const struct kf_tensor *w = weight(c, part, ".weight");
	const struct kf_tensor *mean = weight(c, part, "_norm.running_mean");
	const struct kf_tensor *var = weight(c, part, "_norm.running_var");
	const struct kf_tensor *gain = weight(c, part, "_norm.weight");
	const struct kf_tensor *shift = weight(c, part, "_norm.bias");
	int64_t k = w->shape[2], taps = w->shape[1] * k * k;

	for (int64_t i = 0; i < w->shape[0] * out * out; i++) {
		int64_t to = i / out / out;
		double sum = 0;

		for (int64_t t = 0; t < taps; t++) {
			int64_t a = i / out % out * stride + t / k % k - k / 2;
			int64_t b = i % out * stride + t % k - k / 2;

			if (a >= 0 && b >= 0 && a < in && b < in)
				sum += x[(t / (k * k) * in + a) * in + b] *
				       value(w, to * taps + t);
		}
		y[i] += (sum - value(mean, to)) /
			sqrt(value(var, to) + 1e-5) * value(gain, to) +
			value(shift, to);
	}
}

int kf_forward(struct kf_call *c)
{
	const int64_t *in = c->in[0].shape, *out = c->out[0].shape;
	int64_t size = out[1] * out[2] * out[2];
	float *middle = kf_temp(c, (size_t)size * sizeof(float));
	double *y = kf_temp(c, (size_t)size * sizeof(double));

	for (int64_t b = 0; middle && y && b < in[0]; b++) {
		const float *x = (const float *)c->in[0].data +
				 b * in[1] * in[2] * in[2];
		float *result = (float *)c->out[0].data + b * size;

		for (int64_t i = 0; i < size; i++)
			y[i] = 0;
		block(c, "first", x, y, in[2], out[2], 2);
		for (int64_t i = 0; i < size; i++) {
			middle[i] = (float)fmax(y[i], 0);
			y[i] = 0;
		}
		block(c, "second", middle, y, out[2], out[2], 1);
		block(c, "shortcut", x, y, in[2], out[2], 2);
		for (int64_t i = 0; i < size; i++)
			result[i] = (float)fmax(y[i], 0);
	}
	return !middle || !y;
}
