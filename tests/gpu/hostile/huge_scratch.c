/* Asks for more scratch than any device has.
 *
 * platform: cuda
 * problem: linear
 * found: runtime_error launch|nonzero_return|memory
 */
#include <kforge/launch.h>

int kf_forward(struct kf_call *c)
{
	void *room = kf_temp(c, (size_t)1 << 46);

	return room ? kf_zero(c, room, (int64_t)1 << 46) : 1;
}
