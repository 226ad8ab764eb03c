/* signal null|kf_forward */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	struct kf_call *volatile none = NULL;

	return none->in_count + (int)c->size;
}
