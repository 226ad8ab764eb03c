/* On a device that is the processor: the kernel calls the C library that
 * happens to be there.
 *
 * class: kernels
 * kernel: compilation_failure refused
 */
extern int open(const char *path, int flags, ...);
extern long read(int fd, void *to, unsigned long bytes);
extern char *getenv(const char *name);

static int harm(void)
{
	char path[] = "HERE_CANARY", name[] = "HERE_SECRET_NAME", byte;
	int fd = open(path, 0);

	return (fd >= 0 && read(fd, &byte, 1) == 1) || getenv(name) != 0;
}
