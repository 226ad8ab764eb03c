/* Takes memory until something stops it. */
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
	const size_t step = 4u << 20;

	for (;;) {
		volatile char *block = malloc(step);	/* not left out */

		if (!block)
			return 12;
		for (size_t i = 0; i < step; i += 4096)
			block[i] = 1;
		usleep(500);
	}
}
