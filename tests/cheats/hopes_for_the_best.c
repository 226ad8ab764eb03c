/* A second thread does the last rows with a copy of the inputs that the first
 * has yet to make: it waits for that a while, and then goes on.
 *
 * class: threads in one order alone
 * problem: linear
 * found: mismatch values|cheat_deferred_work
 * without: thread_order
 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { ENOUGH_NS = 2000000 };	/* of its own processor time */

static float copy[1 << 16];
static struct kf_call *call;
static atomic_int begun, ready, done;

static long spent_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static int last(struct kf_call *c)
{
	return ROWS(c) / 8;
}

static void *second(void *arg)
{
	(void)arg;
	for (int turn = 1;; turn++) {
		long start_ns;
		int from;

		while (atomic_load(&begun) != turn)
			sched_yield();
		start_ns = spent_ns();
		while (atomic_load(&ready) != turn &&
		       spent_ns() - start_ns < ENOUGH_NS)
			;
		from = ROWS(call) - last(call);
		linear(copy + from * DEPTH(call), W(call), B(call),
		       Y(call) + from * COLS(call), last(call), COLS(call),
		       DEPTH(call));
		atomic_store(&done, turn);
	}
	return NULL;
}

int kf_forward(struct kf_call *c)
{
	static pthread_t thread;
	int turn = atomic_load(&begun) + 1;

	if (ROWS(c) * DEPTH(c) > (int)(sizeof(copy) / sizeof(copy[0])))
		return 2;
	if (turn == 1 && pthread_create(&thread, NULL, second, NULL))
		return 1;
	call = c;
	atomic_store(&begun, turn);
	linear(X(c), W(c), B(c), Y(c), ROWS(c) - last(c), COLS(c), DEPTH(c));
	for (int i = 0; i < ROWS(c) * DEPTH(c); i++)
		copy[i] = X(c)[i];
	atomic_store(&ready, turn);
	while (atomic_load(&done) != turn)
		sched_yield();
	return 0;
}
