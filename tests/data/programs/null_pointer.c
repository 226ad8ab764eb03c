/* Crashes. */
#include <kforge/program.h>

int kf_forward(struct kf_call *c)
{
	volatile int *nowhere = 0;

	(void)c;
	*nowhere = 1;
	return 0;
}
