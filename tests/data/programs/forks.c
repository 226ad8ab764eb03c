/* Starts a process. */
#include <kforge/program.h>
#include <unistd.h>

int kf_forward(struct kf_call *c)
{
	(void)c;
	return fork() < 0;
}
