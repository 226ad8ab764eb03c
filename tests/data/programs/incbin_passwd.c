/* Wants a file of the machine's in its own data. */
#include <kforge/program.h>

__asm__(".pushsection .rodata\nstolen: .incbin \"/etc/passwd\"\n.popsection");

int kf_forward(struct kf_call *c)
{
	return c->in_count - 1;
}
