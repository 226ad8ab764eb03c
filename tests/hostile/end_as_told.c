/* "exit N", "signal N", or "fd N": reads from descriptor N and prints it. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int number = argc > 2 ? atoi(argv[2]) : 0;
	char text[64];
	ssize_t got;

	if (argc < 3)
		return 1;
	if (strcmp(argv[1], "exit") == 0)
		return number;
	if (strcmp(argv[1], "signal") == 0) {
		raise(number);
		return 99;
	}
	got = pread(number, text, sizeof(text), 0);
	if (got < 0 || write(1, text, (size_t)got) != got)
		return 2;
	return 0;
}
