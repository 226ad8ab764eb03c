/* x tanh(log(1 + exp(steepness x))) */
#include <kforge/program.h>

#include <math.h>

int kf_forward(struct kf_call *c)
{
	int64_t channels = c->in[0].shape[1];
	const float *x = c->in[0].data, *steepness = c->weight[0].data;
	float *y = c->out[0].data;

	for (int64_t i = 0; i < kf_numel(&c->out[0]); i++) {
		double s = (double)steepness[i % channels] * x[i];

		/* log1p(exp(s)) without an overflow. */
		s = (s > 0 ? s : 0) + log1p(exp(-fabs(s)));
		y[i] = (float)(x[i] * tanh(s));
	}
	return 0;
}
