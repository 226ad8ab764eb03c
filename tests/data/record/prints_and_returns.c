/* nonzero_return */
#include <kforge/launch.h>
#include <stdio.h>

int kf_forward(struct kf_call *c)
{
	printf("shape %lld\n", (long long)c->in[0].shape[0]);
	fflush(stdout);
	return 5;
}
