/* Tries to leave files where it was given nothing to write; arguments are more
 * places to try. Prints those that worked. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

static int leave(const char *dir)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/kf-hostile-file", dir);
	if (open(path, O_WRONLY | O_CREAT, 0600) >= 0) {
		printf("%s\n", path);
		return 1;
	}
	snprintf(path, sizeof(path), "%s/kf-hostile-folder", dir);
	if (mkdir(path, 0700) == 0) {
		printf("%s\n", path);
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const dirs[] = {
		"/", "/dev", "/dev/shm", "/usr", "/etc", "/var/tmp", "/run",
		"/home", "/root", "/proc", "..",
	};
	int worked = 0;

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		worked |= leave(dirs[i]);
	for (int i = 1; i < argc; i++)
		worked |= leave(argv[i]);
	return worked;
}
