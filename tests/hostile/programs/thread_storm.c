/* Starts threads until nobody else can, and leaves them there.
 *
 * class: processes
 * run: correct - or runtime_error violation
 * record: correct - or runtime_error violation
 * reference: correct - or harness_error input
 */
#include <pthread.h>
#include <unistd.h>

static void *stay(void *arg)
{
	(void)arg;
	sleep(600);
	return NULL;
}

static int harm(void)
{
	static int done;
	pthread_t thread;
	int count = 0;

	if (done)
		return 0;
	done = 1;
	while (count < 100000 &&
	       pthread_create(&thread, NULL, stay, NULL) == 0)
		count++;
	return count == 100000;
}
