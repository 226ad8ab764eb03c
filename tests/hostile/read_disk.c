/* Looks for secrets outside of what it was given; prints what it could open. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>

int main(void)
{
	static const char *const paths[] = {
		"/etc/passwd", "/etc/shadow", "/etc/hosts", "/root/.ssh",
		"/root", "/home", "/var", "/opt", "/usr/share", "/sys",
		"/proc/1/environ", "/proc/self/root/etc/passwd",
		"../../../../../../etc/passwd", "/dev/mem", "/dev/sda",
		"/dev/vda", "/dev/kmsg", "/dev/shm", "/dev/tty",
	};
	int found = 0;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (open(paths[i], O_RDONLY) >= 0) {
			printf("%s\n", paths[i]);
			found = 1;
		}
	return found;
}
