/* Crashes in a thread while another holds the locks of stdio.
 *
 * class: locks
 * run: runtime_error signal
 * load: runtime_error signal
 * record: runtime_error signal
 * reference: harness_error input
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void *hold(void *arg)
{
	flockfile(stdout);
	flockfile(stderr);
	*(volatile int *)arg = 1;
	for (;;)
		nanosleep(&(struct timespec) { 3600, 0 }, NULL);
}

static int harm(void)
{
	volatile int held = 0;
	pthread_t thread;

	if (pthread_create(&thread, NULL, hold, (void *)&held))
		return 1;
	while (!held)
		;
	*(volatile int *)8 = 1;
	return 1;
}
