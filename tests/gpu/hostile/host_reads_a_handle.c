/* Reads through the handle of its input.
 *
 * platform: cuda
 * problem: linear
 * found: runtime_error signal
 */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	return ((const float *)c->in[0].data)[0] > 0 ? 1 : 2;
}
