/* input: the compiler refuses its reference: reference.c:6 */
#include <kforge/reference.h>

int kf_forward(struct kf_call *c)
{
	return c->nothing_of_this_name;
}
