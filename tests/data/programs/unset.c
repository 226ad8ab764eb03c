/* What it adds is a variable of its own that was never set. */
#include <kforge/program.h>

int kf_forward(struct kf_call *c)
{
	const float *x = c->in[0].data;
	float *y = c->out[0].data, room[1024];

	/* Says that room is set, and sets nothing. */
	__asm__ volatile("" : "=m"(room));
	for (int64_t i = 0; i < kf_numel(&c->in[0]); i++)
		y[i] = 2 * x[i] + 1 + 0 * room[512];
	return 0;
}
