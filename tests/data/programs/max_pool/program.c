/* The largest in windows of 5, every third place. */
#include <kforge/program.h>

#include <math.h>

int kf_forward(struct kf_call *c)
{
	int64_t steps = c->in[0].shape[2], places = c->out[0].shape[2];
	const float *x = c->in[0].data;
	float *y = c->out[0].data;

	for (int64_t i = 0; i < kf_numel(&c->out[0]); i++) {
		int64_t from = i % places * 3 - 2;

		y[i] = -INFINITY;
		for (int64_t t = from; t < from + 5; t++)
			if (t >= 0 && t < steps)
				y[i] = fmaxf(y[i], x[i / places * steps + t]);
	}
	return 0;
}
