/* Takes memory until something stops it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
	const size_t step = 4u << 20;

	for (;;) {
		char *block = malloc(step);

		if (!block)
			return 12;
		memset(block, 1, step);
		usleep(500);
	}
}
