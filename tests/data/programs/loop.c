/* Never ends. */
#include <kforge/program.h>

int kf_forward(struct kf_call *c)
{
	volatile int on = 1;

	(void)c;
	while (on)
		;
	return 0;
}
