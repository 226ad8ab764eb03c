/* Cannot compile, and has no entry. */
#include <kforge/program.h>

int forward(struct kf_call *c)
{
	return c->no_such_member
}
