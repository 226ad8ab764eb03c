/* y = a b, a row of b at a time. */
#include <kforge/reference.h>

int kf_forward(struct kf_call *c)
{
	int64_t rows = c->in[0].shape[0], inner = c->in[0].shape[1];
	int64_t n = c->in[1].shape[1];
	const kf_real *a = c->in[0].data, *b = c->in[1].data;
	kf_real *y = c->out[0].data;

	for (int64_t row = 0; row < rows; row++, y += n) {
		for (int64_t i = 0; i < n; i++)
			y[i] = 0;
		for (int64_t k = 0; k < inner; k++)
			for (int64_t i = 0; i < n; i++)
				y[i] += a[row * inner + k] * b[k * n + i];
	}
	return 0;
}
