/* Ends the process that started it.
 *
 * class: other processes
 * run: runtime_error violation
 * record: runtime_error violation
 */
#include <signal.h>
#include <unistd.h>

static int harm(void)
{
	return kill(getppid(), SIGKILL) == 0;
}
