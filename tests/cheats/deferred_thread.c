/* Returns at once; a thread that it leaves behind does the work.
 *
 * class: work deferred to another thread
 * problem: linear
 * found: mismatch cheat_deferred_work|unwritten
 * without: pause
 */
#include <pthread.h>
#include <time.h>

static struct kf_tensor in, weight[2], out;

static void *work(void *arg)
{
	struct timespec wait = { 0, 100000 };

	(void)arg;
	nanosleep(&wait, NULL);
	linear(in.data, weight[0].data, weight[1].data, out.data, in.shape[0],
	       out.shape[1], in.shape[1]);
	return NULL;
}

int kf_forward(struct kf_call *c)
{
	pthread_t thread;

	in = c->in[0];
	weight[0] = c->weight[0];
	weight[1] = c->weight[1];
	out = c->out[0];
	if (pthread_create(&thread, NULL, work, NULL))
		return 1;
	pthread_detach(thread);
	return 0;
}
