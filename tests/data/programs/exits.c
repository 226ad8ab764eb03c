/* Ends the process as if all were well. */
#include <kforge/program.h>
#include <stdlib.h>

int kf_forward(struct kf_call *c)
{
	(void)c;
	exit(0);
}
