/* The same by another call.
 *
 * class: other processes
 * run: runtime_error violation
 * record: runtime_error violation
 */
#include <sys/uio.h>
#include <unistd.h>

static int harm(void)
{
	char here[16];
	struct iovec to = { here, sizeof(here) };
	struct iovec from = { (void *)0x400000, sizeof(here) };

	return process_vm_readv(getppid(), &to, 1, &from, 1, 0) > 0;
}
