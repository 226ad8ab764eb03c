/* Each of the groups of a picture's channels to mean 0 and variance 1. */
#include <kforge/program.h>

#include <math.h>

/* The constructor's arguments are constants of the problem; how many channels
 * a group has differs between its sizes. */
static int64_t groups_of(int64_t channels)
{
	return channels == 12 ? 3 : channels == 256 ? 32 : 6;
}

int kf_forward(struct kf_call *c)
{
	const int64_t *in = c->in[0].shape;
	int64_t groups = groups_of(in[1]), plane = in[2] * in[3];
	int64_t size = in[1] / groups * plane;
	const float *gain = c->weight[0].data, *shift = c->weight[1].data;

	for (int64_t g = 0; g < in[0] * groups; g++) {
		const float *x = (const float *)c->in[0].data + g * size;
		float *y = (float *)c->out[0].data + g * size;
		double sum = 0, square = 0, mean;

		for (int64_t i = 0; i < size; i++)
			sum += x[i];
		mean = sum / (double)size;
		for (int64_t i = 0; i < size; i++)
			square += (x[i] - mean) * (x[i] - mean);
		for (int64_t i = 0; i < size; i++) {
			int64_t channel = (g * size + i) / plane % in[1];

			y[i] = (float)((x[i] - mean) /
				       sqrt(square / (double)size + 1e-5) *
				       gain[channel] + shift[channel]);
		}
	}
	return 0;
}
