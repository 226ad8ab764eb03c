/* The mean over features of d^2 / (2 beta) where |d| < beta, |d| - beta / 2
 * elsewhere. */
#include <kforge/reference.h>

#include <tgmath.h>

static const kf_real beta = (kf_real)0.75;

int kf_forward(struct kf_call *c)
{
	int64_t batch = c->in[0].shape[0], n = c->in[0].shape[1];
	const kf_real *guess = c->in[0].data, *truth = c->in[1].data;
	kf_real *y = c->out[0].data;

	for (int64_t b = 0; b < batch; b++, guess += n, truth += n) {
		double sum = 0;

		for (int64_t i = 0; i < n; i++) {
			kf_real d = fabs(guess[i] - truth[i]);

			sum += d < beta ? d * d / (2 * beta) : d - beta / 2;
		}
		y[b] = (kf_real)(sum / (double)n);
	}
	return 0;
}
