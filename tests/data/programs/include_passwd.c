/* Wants a file of the machine's in the compiler's messages. */
#include <kforge/program.h>
#include "/etc/passwd"

int kf_forward(struct kf_call *c)
{
	return c->in_count - 1;
}
