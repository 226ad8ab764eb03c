/* The logarithm of the sum of exponentials of each row. */
#include <kforge/program.h>

#include <math.h>

int kf_forward(struct kf_call *c)
{
	int64_t rows = c->in[0].shape[0], n = c->in[0].shape[1];

	for (int64_t r = 0; r < rows; r++) {
		const float *x = (const float *)c->in[0].data + r * n;
		double largest = x[0], sum = 0;

		for (int64_t i = 1; i < n; i++)
			largest = fmax(largest, x[i]);
		for (int64_t i = 0; i < n; i++)
			sum += exp(x[i] - largest);
		((float *)c->out[0].data)[r] = (float)(log(sum) + largest);
	}
	return 0;
}
