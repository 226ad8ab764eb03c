/* Each channel of a picture times a gate that two layers make of the means of
 * all its channels. */
#include <kforge/program.h>

#include <math.h>

int kf_forward(struct kf_call *c)
{
	const int64_t *in = c->in[0].shape;
	int64_t channels = in[1], plane = in[2] * in[3];
	const struct kf_tensor *squeeze = kf_weight(c, "squeeze.weight");
	const float *w1 = squeeze->data, *b1 = c->weight[1].data;
	const float *w2 = c->weight[2].data, *b2 = c->weight[3].data;
	int64_t few = squeeze->shape[0];
	double *mean = kf_temp(c, (size_t)channels * sizeof(double));
	double *hidden = kf_temp(c, (size_t)few * sizeof(double));

	if (!mean || !hidden)
		return 1;
	for (int64_t b = 0; b < in[0]; b++) {
		int64_t at = b * channels * plane;
		const float *x = (const float *)c->in[0].data + at;
		float *y = (float *)c->out[0].data + at;

		for (int64_t k = 0; k < channels; k++) {
			mean[k] = 0;
			for (int64_t i = 0; i < plane; i++)
				mean[k] += x[k * plane + i] / (double)plane;
		}
		for (int64_t j = 0; j < few; j++) {
			hidden[j] = b1[j];
			for (int64_t k = 0; k < channels; k++)
				hidden[j] += mean[k] * w1[j * channels + k];
			hidden[j] = fmax(hidden[j], 0);
		}
		for (int64_t k = 0; k < channels; k++) {
			double gate = b2[k];

			for (int64_t j = 0; j < few; j++)
				gate += hidden[j] * w2[k * few + j];
			gate = 1 / (1 + exp(-gate));
			for (int64_t i = k * plane; i < (k + 1) * plane; i++)
				y[i] = (float)(x[i] * gate);
		}
	}
	return 0;
}
