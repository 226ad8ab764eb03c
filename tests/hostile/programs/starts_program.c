/* Becomes a shell.
 *
 * class: processes
 * run: runtime_error violation
 * load: runtime_error violation
 * record: runtime_error violation
 * reference: harness_error input
 */
#include <unistd.h>

static int harm(void)
{
	execl("/bin/sh", "sh", "-c", "echo harm >/tmp/HERE_MARK", (char *)0);
	return 0;
}
