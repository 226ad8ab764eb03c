/* Looks for processes that it could send a signal to (it sends none: 0 only
 * asks), besides itself and the first of its namespace. Prints them. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	pid_t self = getpid();
	int found = 0;

	for (pid_t pid = 2; pid < self + 1000; pid++) {
		if (pid == 32768 && pid < self - 1000)
			pid = self - 1000;	/* enough of a large space */
		if (pid != self && kill(pid, 0) == 0) {
			printf("%d\n", (int)pid);
			found = 1;
		}
	}
	if (getppid() != 1 && kill(getppid(), 0) == 0)
		found = 1;
	return found;
}
