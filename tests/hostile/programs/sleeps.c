/* Waits for what never comes: takes no processor time.
 *
 * class: hangs
 * limits: call_s=2
 * run: runtime_error timeout
 * load: runtime_error timeout
 * record: runtime_error timeout
 */
#include <time.h>

static int harm(void)
{
	struct timespec day = { 86400, 0 };

	for (;;)
		nanosleep(&day, NULL);
}
