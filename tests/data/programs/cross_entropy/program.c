/* weight[label] (log sum exp(logits) - logits[label]) of each row. */
#include <kforge/program.h>

#include <math.h>

int kf_forward(struct kf_call *c)
{
	int64_t rows = c->in[0].shape[0], classes = c->in[0].shape[1];
	const int64_t *label = c->in[1].data;
	const float *weight = c->weight[0].data;

	for (int64_t r = 0; r < rows; r++) {
		const float *x = (const float *)c->in[0].data + r * classes;
		float largest = x[0];
		double sum = 0;

		for (int64_t i = 1; i < classes; i++)
			largest = fmaxf(largest, x[i]);
		for (int64_t i = 0; i < classes; i++)
			sum += exp((double)x[i] - largest);
		((float *)c->out[0].data)[r] = (float)(weight[label[r]] *
			(log(sum) + largest - x[label[r]]));
	}
	return 0;
}
