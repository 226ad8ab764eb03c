/* load no_such_function */
#include <kforge/launch.h>

int no_such_function(struct kf_call *c);

int kf_forward(struct kf_call *c)
{
	return no_such_function(c);
}
