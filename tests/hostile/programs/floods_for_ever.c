/* Prints and never ends.
 *
 * class: floods
 * limits: call_s=2
 * run: runtime_error timeout
 * record: runtime_error timeout
 */
#include <string.h>
#include <unistd.h>

static int harm(void)
{
	static char text[1 << 16];

	memset(text, '\n', sizeof(text));
	for (;;)
		if (write(2, text, sizeof(text)) < 0)
			return 0;
}
