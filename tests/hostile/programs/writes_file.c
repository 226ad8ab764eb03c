/* Overwrites a file of the user's.
 *
 * class: files
 * run: runtime_error violation
 * load: runtime_error violation
 * record: runtime_error violation
 * reference: harness_error input
 */
#include <fcntl.h>
#include <unistd.h>

static int harm(void)
{
	int fd = open("HERE_CANARY", O_WRONLY | O_TRUNC);

	return fd >= 0 && write(fd, "x", 1) == 1;
}
