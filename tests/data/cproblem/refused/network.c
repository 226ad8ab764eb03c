/* input: forbidden in kf_forward: socket */
#include <kforge/reference.h>
#include <sys/socket.h>

int kf_forward(struct kf_call *c)
{
	return socket(AF_INET, SOCK_STREAM, 0) + c->in_count;
}
