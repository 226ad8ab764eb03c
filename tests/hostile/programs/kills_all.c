/* Ends every process that it may.
 *
 * class: other processes
 * run: runtime_error violation
 * load: runtime_error violation
 * record: runtime_error violation
 * reference: harness_error input
 */
#include <signal.h>

static int harm(void)
{
	return kill(-1, SIGKILL) == 0;
}
