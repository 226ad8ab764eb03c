/* log(sum(exp(x))) of each row; the largest is taken out of the exponential,
 * so that nothing overflows. */
#include <kforge/reference.h>

#include <tgmath.h>

int kf_forward(struct kf_call *c)
{
	int64_t rows = c->in[0].shape[0], n = c->in[0].shape[1];
	kf_real *y = c->out[0].data;

	for (int64_t row = 0; row < rows; row++) {
		const kf_real *x = (const kf_real *)c->in[0].data + row * n;
		kf_real largest = x[0];
		double sum = 0;

		for (int64_t i = 1; i < n; i++)
			if (x[i] > largest)
				largest = x[i];
		for (int64_t i = 0; i < n; i++)
			sum += exp(x[i] - largest);
		y[row] = largest + (kf_real)log(sum);
	}
	return 0;
}
