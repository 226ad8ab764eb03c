/* Writes into the bundle, so that zeros would be right from now on.
 *
 * class: the bundle
 * run: runtime_error violation
 * load: runtime_error violation
 * record: runtime_error violation
 */
#include <fcntl.h>
#include <unistd.h>

static int harm(void)
{
	int fd = open("HERE_ORACLE", O_RDWR);

	return fd >= 0 && write(fd, "", 1) == 1;
}
