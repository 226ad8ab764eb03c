/* All processors busy, for ever, behind a right result.
 *
 * class: hangs
 * run: correct - or runtime_error timeout
 * record: correct - or runtime_error timeout
 */
#include <pthread.h>

static void *spin(void *arg)
{
	for (volatile int *count = arg;;)
		++*count;
}

static int harm(void)
{
	static int count, done;
	pthread_t thread;

	for (int i = 0; i < 4 && !done; i++)
		pthread_create(&thread, NULL, spin, &count);
	done = 1;
	return 0;
}
