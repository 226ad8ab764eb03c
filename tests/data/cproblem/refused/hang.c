/* timeout: did not finish within */
#include <kforge/reference.h>

int kf_forward(struct kf_call *c)
{
	for (volatile int i = 0; c->in_count; i = !i)
		;
	return 0;
}
