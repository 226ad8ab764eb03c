#include "base/base.h"

#include <dirent.h>
#include <inttypes.h>

/* The second number of schedstat: nanoseconds spent waiting on a run queue. */
static uint64_t thread_delay_ns(int pid, const char *thread)
{
	char path[300];
	uint64_t ran = 0, waited = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/schedstat", pid,
		 thread);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%" SCNu64 " %" SCNu64, &ran, &waited) != 2)
		waited = 0;
	fclose(f);
	return waited;
}

uint64_t kf_proc_delay_ns(int pid)
{
	const struct dirent *entry;
	uint64_t sum = 0;
	char path[40];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return 0;
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			sum += thread_delay_ns(pid, entry->d_name);
	closedir(dir);
	return sum;
}
