/* Threads of its own that wait for the next call and are done when it returns.
 *
 * class: threads of its own
 * problem: linear
 * found: correct -
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static struct kf_call now;
static atomic_int round_number, done;

static void part(int which)
{
	int64_t rows = ROWS(&now), from = which * rows / 2;
	int64_t count = (which + 1) * rows / 2 - from;

	linear(X(&now) + from * DEPTH(&now), W(&now), B(&now),
	       Y(&now) + from * COLS(&now), count, COLS(&now), DEPTH(&now));
}

static void *serve(void *arg)
{
	int last = 0;

	(void)arg;
	for (;;) {
		while (atomic_load(&round_number) == last)
			sched_yield();
		last = atomic_load(&round_number);
		part(1);
		atomic_store(&done, last);
	}
	return NULL;
}

int kf_forward(struct kf_call *c)
{
	static int started;
	pthread_t thread;

	if (!started && pthread_create(&thread, NULL, serve, NULL))
		return 1;
	started = 1;
	now = *c;
	atomic_fetch_add(&round_number, 1);
	part(0);
	while (atomic_load(&done) != atomic_load(&round_number))
		sched_yield();
	return 0;
}
