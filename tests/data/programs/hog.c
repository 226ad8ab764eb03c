/* Takes memory until there is none. */
#include <kforge/program.h>
#include <stdlib.h>
#include <string.h>

/* Or the compiler sees that nobody wants it. */
static char *volatile last;

int kf_forward(struct kf_call *c)
{
	(void)c;
	for (;;) {
		char *more = malloc(16u << 20);

		memset(more, 1, 16u << 20);
		last = more;
	}
}
