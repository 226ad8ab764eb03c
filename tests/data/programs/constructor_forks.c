/* Starts a process while it is loaded. */
#include <kforge/program.h>
#include <unistd.h>

__attribute__((constructor)) static void at_load(void)
{
	if (fork() == 0)
		pause();
}

int kf_forward(struct kf_call *c)
{
	const float *x = c->in[0].data;
	float *y = c->out[0].data;
	int64_t n = kf_numel(&c->in[0]);

	for (int64_t i = 0; i < n; i++)
		y[i] = 2 * x[i] + 1;
	return 0;
}
