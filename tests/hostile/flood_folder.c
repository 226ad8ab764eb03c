/* Writes files of an allowed size into a folder (its argument), one after the
 * other, 64 MiB in all. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static char block[1 << 20];
	char path[4096];

	for (int i = 0; argc > 1 && i < 64; i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/f%d", argv[1], i);
		fd = open(path, O_WRONLY | O_CREAT, 0600);
		if (fd < 0 || write(fd, block, sizeof(block)) < 0)
			return 1;
		close(fd);
	}
	return 0;
}
