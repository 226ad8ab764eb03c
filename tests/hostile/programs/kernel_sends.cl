/* The same, to send what it has to somebody.
 *
 * class: kernels
 * kernel: compilation_failure refused
 */
extern int socket(int domain, int type, int protocol);
extern int connect(int fd, const void *to, unsigned bytes);

static int harm(void)
{
	unsigned char to[16] = { 2, 0, HERE_PORT >> 8, HERE_PORT & 255, 127, 0, 0, 1 };

	return connect(socket(2, 1, 0), to, 16) == 0;
}
