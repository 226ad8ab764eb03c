/* Removes a file of the user's.
 *
 * class: files
 * run: runtime_error violation
 * record: runtime_error violation
 */
#include <unistd.h>

static int harm(void)
{
	return unlink("HERE_CANARY") == 0;
}
