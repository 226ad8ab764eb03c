/* Leaves a file, for its own next process to find.
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
	return open("/tmp/HERE_MARK", O_WRONLY | O_CREAT, 0600) >= 0;
}
