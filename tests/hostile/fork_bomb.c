/* Forks without end; every copy goes on forking. After 4000 it only waits, so
 * that a sandbox without a limit fails its test and not the machine. */
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void)
{
	atomic_int *count = mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (count == MAP_FAILED)
		return 1;
	while (atomic_fetch_add(count, 1) < 4000)
		if (fork() < 0)
			usleep(1000);
	for (;;)
		pause();
}
