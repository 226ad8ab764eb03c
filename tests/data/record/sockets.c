/* violation socket */
#include <kforge/launch.h>
#include <sys/socket.h>

int kf_forward(struct kf_call *c)
{
	return socket(AF_UNIX, SOCK_STREAM, 0) + (int)c->size;
}
