/* Weighted sums of rows of a table. */
#include <kforge/program.h>

int kf_forward(struct kf_call *c)
{
	int64_t words = c->in[0].shape[1], features = c->out[0].shape[1];
	const int64_t *word = c->in[0].data;
	const float *weight = c->in[1].data, *table = c->weight[0].data;
	float *y = c->out[0].data;

	for (int64_t i = 0; i < kf_numel(&c->out[0]); i++) {
		int64_t s = i / features * words;
		double sum = 0;

		for (int64_t k = s; k < s + words; k++)
			sum += (double)weight[k] *
			       table[word[k] * features + i % features];
		y[i] = (float)sum;
	}
	return 0;
}
