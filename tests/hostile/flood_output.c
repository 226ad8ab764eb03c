/* Prints 64 MiB on each stream, then ends as if nothing had been. */
#include <string.h>
#include <unistd.h>

int main(void)
{
	static char block[1u << 20];

	memset(block, 'x', sizeof(block));
	for (int i = 0; i < 64; i++)
		for (int fd = 1; fd <= 2; fd++)
			if (write(fd, block, sizeof(block)) < 0)
				return 1;
	return 3;
}
