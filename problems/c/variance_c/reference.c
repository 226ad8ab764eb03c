/* Mean and unbiased variance of each column, in two passes. */
#include <kforge/reference.h>

int kf_forward(struct kf_call *c)
{
	int64_t rows = c->in[0].shape[0], n = c->in[0].shape[1];
	const kf_real *x = c->in[0].data;
	kf_real *mean = c->out[0].data, *variance = c->out[1].data;

	for (int64_t i = 0; i < n; i++) {
		double sum = 0, squares = 0, middle;

		for (int64_t row = 0; row < rows; row++)
			sum += x[row * n + i];
		middle = sum / (double)rows;
		for (int64_t row = 0; row < rows; row++)
			squares += (x[row * n + i] - middle) *
				   (x[row * n + i] - middle);
		mean[i] = (kf_real)middle;
		variance[i] = (kf_real)(squares / (double)(rows - 1));
	}
	return 0;
}
