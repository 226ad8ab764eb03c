/* Writes into every descriptor, and closes all: those of whoever called it too.
 *
 * class: descriptors
 * run: correct -
 * load: correct -
 * record: runtime_error exited
 * reference: correct -
 */
#include <unistd.h>

static int harm(void)
{
	int reached = 0;

	for (int fd = 3; fd < 1024; fd++)
		reached += write(fd, "{\"state\":\"correct\"}\n", 20) == 20;
	for (int fd = 0; fd < 1024; fd++)
		close(fd);
	return reached;
}
