/* Starts processes until nobody else can.
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
	for (;;)
		fork();
}
