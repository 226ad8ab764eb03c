/* Stands still, as if the supervisor had stopped it.
 *
 * class: hangs
 * limits: call_s=2
 * run: runtime_error timeout|violation
 * record: runtime_error timeout|violation
 */
#include <signal.h>

static int harm(void)
{
	raise(SIGSTOP);
	return 0;
}
