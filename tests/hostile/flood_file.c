/* Writes one file without end; the path is its argument. */
#include <fcntl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static char block[1u << 20];
	int fd = open(argc > 1 ? argv[1] : "flood", O_WRONLY | O_CREAT, 0600);

	if (fd < 0)
		return 1;
	while (write(fd, block, sizeof(block)) > 0)
		;
	return 2;
}
