/* Computes for ever, with as many threads as it is told. */
#include <pthread.h>
#include <stdlib.h>

static void *spin(void *arg)
{
	for (volatile unsigned long i = 0;; i++)
		;
	return arg;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1;

	for (int i = 1; i < threads; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, spin, NULL))
			return 1;
	}
	spin(NULL);
	return 0;
}
