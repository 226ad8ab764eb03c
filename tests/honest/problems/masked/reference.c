#include <kforge/reference.h>
#include <tgmath.h>

int kf_forward(struct kf_call *c)
{
	for (int64_t r = 0; r < ROWS; r++) {
		const kf_real *x = (const kf_real *)c->in[0].data + r * COLUMNS;
		const uint8_t *valid = (const uint8_t *)c->in[1].data +
			r * COLUMNS;
		kf_real *y = (kf_real *)c->out[0].data + r * COLUMNS;
		kf_real most = -1e30, sum = 0;

		for (int64_t i = 0; i < COLUMNS; i++)
			if (valid[i] && x[i] > most)
				most = x[i];
		for (int64_t i = 0; i < COLUMNS; i++)
			sum += y[i] = valid[i] ? exp(x[i] - most) : 0;
		for (int64_t i = 0; i < COLUMNS; i++)
			y[i] /= sum;
	}
	return 0;
}
