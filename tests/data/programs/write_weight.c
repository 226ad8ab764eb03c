/* Writes to a weight. */
#include <kforge/program.h>

int kf_forward(struct kf_call *c)
{
	((float *)kf_weight(c, "fc.bias")->data)[1] = 0;
	return 0;
}
