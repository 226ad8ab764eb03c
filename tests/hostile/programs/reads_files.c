/* Reads what it was not given: a file of the user's, the system's, the expected
 * outputs, memory of other processes by way of /proc.
 *
 * class: files
 * run: correct -
 * load: correct -
 * record: correct -
 * reference: correct -
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int harm(void)
{
	static const char *const paths[] = {
		"HERE_CANARY", "HERE_ORACLE", "/etc/passwd", "/etc/shadow",
		"/etc/hostname", "/proc/self/environ", "/proc/1/environ",
		"/proc/self/rootHERE_CANARY", "../../../../../../..HERE_CANARY",
		"/root", "/home", "/dev/mem", "/dev/sda", "/dev/vda",
	};
	char bytes[4096];
	int found = 0;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		int fd = open(paths[i], O_RDONLY);

		if (fd < 0)
			continue;
		if (read(fd, bytes, sizeof(bytes)) > 0)
			fwrite(bytes, 1, sizeof(bytes), stderr);
		fprintf(stderr, "opened %s\n", paths[i]);
		found = 1;
	}
	return found;
}
