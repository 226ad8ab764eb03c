/* The output begins as a copy of an input; what is to be done with it comes as
 * a struct by value.
 *
 * class: outputs as scratch
 * problem: problems/c/axpby
 * size: test
 * found: correct -
 */
#include <kforge/launch.h>

struct what { float alpha, beta; int64_t from, to; };

int kf_forward(struct kf_call *c)
{
	int64_t n = kf_numel(&c->in[0]), bytes = n * (int64_t)sizeof(float);
	float alpha = (float)c->scalar[0].f, beta = (float)c->scalar[1].f;
	struct what half[] = { { alpha, beta, 0, n / 2 },
			       { alpha, beta, n / 2, n } };

	kf_copy(c, c->out[0], c->in[1], bytes);
	for (int i = 0; i < 2; i++)
		kf_launch(c, "add", KF_DIM(4), KF_DIM(64), 0,
			  KF_BUF(c->in[0]), KF_BUF(c->out[0]),
			  KF_BYTES(&half[i], sizeof(half[i])));
	return 0;
}
