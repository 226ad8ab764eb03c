/* Copies more than its input has, to look at what lies behind it.
 *
 * platform: cuda
 * problem: linear
 * found: runtime_error launch
 */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	return kf_copy(c, c->out[0], c->in[0], (int64_t)1 << 30);
}
