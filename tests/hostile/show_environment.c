/* Prints its environment and every descriptor that somebody left open. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	for (char **e = environ; *e; e++)
		printf("env %s\n", *e);
	for (int fd = 3; fd < 4096; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			printf("fd %d\n", fd);
	return 0;
}
