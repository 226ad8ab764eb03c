/* Divides an integer by zero. */
#include <kforge/program.h>

int kf_forward(struct kf_call *c)
{
	volatile int zero = 0;

	(void)c;
	return 7 / zero;
}
