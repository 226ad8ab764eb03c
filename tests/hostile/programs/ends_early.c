/* Ends its process as if all was well.
 *
 * class: hangs
 * run: runtime_error exited
 * load: runtime_error exited
 * record: runtime_error exited
 * reference: harness_error input
 */
#include <unistd.h>

static int harm(void)
{
	_exit(0);
}
