#include <kforge/reference.h>
#include <tgmath.h>

int kf_forward(struct kf_call *c)
{
	for (int64_t r = 0; r < ROWS; r++) {
		const kf_real *x = (const kf_real *)c->in[0].data + r * CLASSES;
		kf_real *y = (kf_real *)c->out[0].data + r * CLASSES;
		kf_real most = x[0], sum = 0;

		for (int64_t i = 0; i < CLASSES; i++)
			most = x[i] > most ? x[i] : most;
		for (int64_t i = 0; i < CLASSES; i++)
			sum += y[i] = exp(x[i] - most);
		for (int64_t i = 0; i < CLASSES; i++)
			y[i] /= sum;
	}
	return 0;
}
