/* Sends what it has to somebody.
 *
 * class: network
 * run: runtime_error violation
 * load: runtime_error violation
 * record: runtime_error violation
 * reference: harness_error input
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

static int harm(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(HERE_PORT) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0;
}
