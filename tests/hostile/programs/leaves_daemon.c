/* Leaves a process behind that outlives the judgement.
 *
 * class: left behind
 * run: runtime_error violation
 * record: runtime_error violation
 * reference: harness_error input
 */
#include <unistd.h>

static int harm(void)
{
	if (vfork() == 0) {
		setsid();
		for (;;)
			pause();
	}
	return 1;
}
