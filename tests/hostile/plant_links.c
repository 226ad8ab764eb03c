/* Leaves traps in its output folder (the argument) for whoever reads it. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 2 || chdir(argv[1]))
		return 1;
	if (symlink("/etc/passwd", "result.json") ||
	    symlink("result.json", "loop") ||
	    symlink("/dev/zero", "artefact") ||
	    mkfifo("log", 0600))
		perror("plant");
	if (symlink("/etc", "folder"))
		return 2;
	return 0;
}
