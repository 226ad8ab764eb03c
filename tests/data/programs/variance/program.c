/* Mean and unbiased variance of each column. */
#include <kforge/program.h>

int kf_forward(struct kf_call *c)
{
	int64_t rows = c->in[0].shape[0], columns = c->in[0].shape[1];
	const float *x = c->in[0].data;

	for (int64_t k = 0; k < columns; k++) {
		double sum = 0, square = 0, mean;

		for (int64_t r = 0; r < rows; r++)
			sum += x[r * columns + k];
		mean = sum / (double)rows;
		for (int64_t r = 0; r < rows; r++)
			square += (x[r * columns + k] - mean) *
				  (x[r * columns + k] - mean);
		((float *)c->out[0].data)[k] = (float)mean;
		((float *)c->out[1].data)[k] =
			(float)(square / (double)(rows - 1));
	}
	return 0;
}
