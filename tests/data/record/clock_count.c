/* not_repeatable calls */
#include <kforge/launch.h>
#include <time.h>

int kf_forward(struct kf_call *c)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	for (long i = 0; i < now.tv_nsec % 10007; i++)
		if (kf_launch(c, "step", KF_DIM(1), KF_DIM(1), 0))
			return 1;
	return 0;
}
