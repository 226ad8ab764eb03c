/* Wants to send what it computed to somebody. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

static int reach(int type)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(53) };
	int fd = socket(AF_INET, type, 0);

	to.sin_addr.s_addr = htonl(0x7f000001);
	if (fd < 0)
		return 0;
	return connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 &&
		send(fd, "x", 1, 0) == 1;
}

int main(void)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	int raw = socket(AF_PACKET, SOCK_RAW, 0);

	memcpy(to.sun_path, "/var/run/docker.sock", 21);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
		puts("docker");
	if (raw >= 0)
		puts("raw");
	if (socket(AF_INET6, SOCK_STREAM, 0) >= 0)
		puts("inet6");
	if (socket(AF_NETLINK, SOCK_RAW, 0) >= 0)
		puts("netlink");
	return reach(SOCK_STREAM) || reach(SOCK_DGRAM);
}
