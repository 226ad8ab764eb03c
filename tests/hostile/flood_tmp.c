/* Fills /tmp with files that are each small enough; exits with the number of
 * MiB that it could write, at most 200. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	static char block[1u << 20];

	for (int i = 0; i < 200; i++) {
		char path[64];
		int fd;

		snprintf(path, sizeof(path), "/tmp/f%d", i);
		fd = open(path, O_WRONLY | O_CREAT, 0600);
		if (fd < 0 || write(fd, block, sizeof(block)) !=
		    (ssize_t)sizeof(block))
			return i > 120 ? 120 : i;
		close(fd);
	}
	return 121;
}
