/* Prints 256 MiB, to fill a log or the memory of who reads it.
 *
 * class: floods
 * run: correct - or runtime_error timeout
 * load: correct - or runtime_error timeout
 * record: correct - or runtime_error timeout
 * reference: correct -
 */
#include <string.h>
#include <unistd.h>

static int harm(void)
{
	static char text[1 << 16];
	static int done;

	memset(text, 'x', sizeof(text));
	for (int i = 0; i < 4096 && !done; i++)
		if (write(1 + i % 2, text, sizeof(text)) < 0)
			return 0;
	done = 1;
	return 0;
}
