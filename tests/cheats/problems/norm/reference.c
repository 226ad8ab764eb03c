#include <kforge/reference.h>
#include <tgmath.h>

int kf_forward(struct kf_call *c)
{
	const kf_real *gain = c->weight[0].data, *shift = c->weight[1].data;

	for (int64_t r = 0; r < ROWS; r++) {
		const kf_real *x = (const kf_real *)c->in[0].data +
			r * FEATURES;
		kf_real *y = (kf_real *)c->out[0].data + r * FEATURES;
		kf_real mean = 0, variance = 0;

		for (int64_t i = 0; i < FEATURES; i++)
			mean += x[i] / FEATURES;
		for (int64_t i = 0; i < FEATURES; i++)
			variance += (x[i] - mean) * (x[i] - mean) / FEATURES;
		for (int64_t i = 0; i < FEATURES; i++)
			y[i] = (x[i] - mean) / sqrt(variance + (kf_real)1e-5) *
				gain[i] + shift[i];
	}
	return 0;
}
