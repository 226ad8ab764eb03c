#include "base/base.h"

#include <sched.h>
#include <unistd.h>

unsigned kf_processors(void)
{
	cpu_set_t set;
	int count;

	CPU_ZERO(&set);
	/* A machine with more than 1,024 makes it fail. */
	if (sched_getaffinity(0, sizeof(set), &set))
		return (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
	count = CPU_COUNT(&set);
	return count > 0 ? (unsigned)count : 1;
}
