/* Opens /dev/null until it may not; exits with the number it has then. */
#include <fcntl.h>

int main(void)
{
	int last = 2, fd;

	while ((fd = open("/dev/null", O_RDONLY)) >= 0)
		last = fd;
	return last + 1 > 120 ? 120 : last + 1;
}
