/* Takes all memory there is.
 *
 * class: memory
 * limits: run_mib=512
 * run: runtime_error memory
 * load: runtime_error memory
 * record: runtime_error memory
 */
#include <stdlib.h>
#include <string.h>

static int harm(void)
{
	for (;;) {
		char *some = malloc(16 << 20);

		if (some)
			memset(some, 1, 16 << 20);
	}
}
