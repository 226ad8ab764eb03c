/* Fills the judge's memory with rubbish. */
#include <kforge/program.h>
#include <string.h>

/* The control page lies above the outputs and the inputs: look for its mark. */
static unsigned *control_page(struct kf_call *c)
{
	uintptr_t at = (uintptr_t)c->out[0].data & ~(uintptr_t)4095;

	for (int i = 0; i < 64; i++, at += 4096)
		if (*(unsigned *)at == 0x6b666870u)
			return (unsigned *)at;
}

int kf_forward(struct kf_call *c)
{
	unsigned *page = control_page(c);

	if (!page)
		return 1;
	memset(page, 0xee, 4096);
	for (;;)
		;
}
