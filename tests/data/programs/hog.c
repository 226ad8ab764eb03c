/* Takes memory until there is none. */
#include <kforge/program.h>
#include <stdlib.h>
#include <string.h>

int kf_forward(struct kf_call *c)
{
	(void)c;
	for (;;) {
		char *more = malloc(16u << 20);

		memset(more, 1, 16u << 20);
	}
}
