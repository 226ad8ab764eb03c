/* cpu_time|timeout kf_forward */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	volatile int64_t i = c->size;

	while (i)
		i |= 1;
	return 0;
}
