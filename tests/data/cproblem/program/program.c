#include <kforge/program.h>
#include <math.h>

int kf_forward(struct kf_call *c)
{
	const float *x = c->in[0].data, *gamma = c->weight[0].data;
	float *y = c->out[0].data;
	int64_t rows = c->in[0].shape[0], cols = c->in[0].shape[1];

	for (int64_t i = 0; i < rows; i++, x += cols, y += cols) {
		float most = x[0], sum = 0;

		for (int64_t j = 1; j < cols; j++)
			most = x[j] > most ? x[j] : most;
		for (int64_t j = 0; j < cols; j++)
			sum += y[j] = expf(x[j] - most);
		for (int64_t j = 0; j < cols; j++)
			y[j] *= gamma[j] / sum;
	}
	return 0;
}
