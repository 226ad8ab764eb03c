/* Reads the memory of the process that started it.
 *
 * class: other processes
 * run: runtime_error violation
 * load: runtime_error violation
 * record: runtime_error violation
 * reference: harness_error input
 */
#include <sys/ptrace.h>
#include <unistd.h>

static int harm(void)
{
	return ptrace(PTRACE_ATTACH, getppid(), 0, 0) == 0;
}
