/* timeout did not finish within 2 s|kf_forward */
#include <kforge/launch.h>
#include <pthread.h>

int kf_forward(struct kf_call *c)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	(void)c;
	pthread_mutex_lock(&lock);
	return pthread_mutex_lock(&lock);	/* for ever */
}
