/* Leaves a link in the place of something that others will write to.
 *
 * class: links and paths
 * run: runtime_error violation
 * record: runtime_error violation
 */
#include <unistd.h>

static int harm(void)
{
	return symlink("HERE_CANARY", "/tmp/HERE_MARK") == 0 ||
		symlink("HERE_CANARY", "HERE_MARK") == 0;
}
