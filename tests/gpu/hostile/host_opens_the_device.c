/* Goes to the device itself.
 *
 * platform: cuda
 * problem: linear
 * found: runtime_error violation|nonzero_return
 */
#include <kforge/launch.h>
#include <stdio.h>

int kf_forward(struct kf_call *c)
{
	FILE *device = fopen("/dev/nvidiactl", "r+");

	(void)c;
	return device ? 0 : 1;
}
