/* Compiles, but kf_forward is not visible. */
#include <kforge/program.h>

__attribute__((visibility("hidden"))) int kf_forward(struct kf_call *c)
{
	return c->in_count - 1;
}
