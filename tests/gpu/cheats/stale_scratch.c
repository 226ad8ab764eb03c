/* Asks for scratch and hopes that it still holds what an earlier call left.
 *
 * class: results kept in scratch
 * platform: cuda
 * problem: linear
 * found: mismatch values|non_finite|unwritten
 * without: -, scratch holds a pattern before every call
 */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	int64_t bytes = kf_numel(&c->out[0]) * (int64_t)sizeof(float);
	void *left = kf_temp(c, (size_t)bytes);

	return left ? kf_copy(c, c->out[0], left, bytes) : 1;
}
