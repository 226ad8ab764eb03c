/* Never comes back.
 *
 * platform: cuda
 * problem: linear
 * found: runtime_error timeout|cpu_time
 */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	volatile int on = 1;

	(void)c;
	while (on)
		;
	return 0;
}
