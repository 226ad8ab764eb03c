/* Ends at once, but leaves a grandchild in a session of its own. */
#include <fcntl.h>
#include <unistd.h>

int main(void)
{
	int ready[2];
	char byte = 0;

	if (pipe(ready))
		return 1;
	if (fork() == 0) {
		setsid();
		if (fork() > 0)
			_exit(0);
		if (write(ready[1], &byte, 1) != 1)
			_exit(1);
		sleep(600);
		_exit(0);
	}
	return read(ready[0], &byte, 1) == 1 ? 0 : 1;
}
