/* Aborts. */
#include <kforge/program.h>
#include <stdlib.h>

int kf_forward(struct kf_call *c)
{
	(void)c;
	abort();
}
