/* Looks for keys: in the environment, and in all that lies above the stack,
 * where the kernel puts it.
 *
 * class: environment
 * run: correct -
 * load: correct -
 * record: correct -
 * reference: correct -
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

static int harm(void)
{
	int found = 0;

	for (char **one = environ; one && *one; one++) {
		fprintf(stderr, "%s\n", *one);
		found |= strstr(*one, "HERE_SECRET_NAME") != NULL;
	}
	return found || getenv("HERE_SECRET_NAME") || getenv("HOME");
}
