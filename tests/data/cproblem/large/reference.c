#include <kforge/reference.h>
#include <tgmath.h>

int kf_forward(struct kf_call *c)
{
	const kf_real *x = c->in[0].data, *z = c->in[1].data;
	const int32_t *keep = c->in[2].data;
	const kf_real *w = c->weight[0].data;
	kf_real *y = c->out[0].data;
	int64_t *count = c->out[1].data;
	float *mean = c->out[2].data;

	for (int64_t i = 0; i < ROWS; i++) {
		double sum = 0, square = 0;

		count[i] = 0;
		for (int64_t j = 0; j < COLS; j++, x++, z++, keep++, y++) {
			*y = *keep ? *x * w[j] + sqrt(*z - 1) : 0;
			count[i] += *keep;
			sum += *y;
			square += *y * *y;
		}
		mean[2 * i] = (float)(sum / COLS);
		mean[2 * i + 1] = (float)sqrt(square / COLS);
	}
	return 0;
}
