/* Another thread writes the outputs within a millisecond of the first one's. */
#include <kforge/program.h>
#include <pthread.h>
#include <time.h>

static struct kf_call *call;

static void *second(void *arg)
{
	const float *x = call->in[0].data;
	const float *w = call->weight[0].data;
	float *y = call->out[0].data;

	for (int64_t i = 0; i < kf_numel(&call->out[0]); i++)
		y[i] = w[0] * x[i] + w[1];
	return arg;
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

int kf_forward(struct kf_call *c)
{
	int64_t start_ns = now_ns();
	pthread_t thread;

	call = c;
	if (pthread_create(&thread, NULL, second, NULL))
		return 1;
	while (now_ns() - start_ns < 1000000)
		;
	return pthread_join(thread, NULL);
}
