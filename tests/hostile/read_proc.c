/* Looks into /proc: 2 if it says nothing about the machine, 1 if it shows
 * processes of others. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define OURS 3	/* this one, and those that keep the sandbox */

int main(void)
{
	FILE *facts = fopen("/proc/cpuinfo", "r");
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int count = 0;

	if (!facts)
		return 2;
	while (dir && (entry = readdir(dir)))
		count += atoi(entry->d_name) > 0;
	printf("%d\n", count);
	return count > OURS;
}
