#include <kforge/reference.h>
#include <tgmath.h>

int kf_forward(struct kf_call *c)
{
	const kf_real *x = c->in[0].data;
	const int32_t *keep = c->in[1].data;
	kf_real factor = (kf_real)c->scalar[0].f;
	kf_real *y = c->out[0].data;
	int64_t *count = c->out[1].data, cols = c->scalar[1].i;

	for (int64_t i = 0; i < ROWS; i++) {
		count[i] = 0;
		for (int64_t j = 0; j < cols; j++, x++, keep++, y++) {
			*y = *keep ? factor * sqrt(*x) : 0;
			count[i] += *keep;
		}
	}
	return 0;
}
