/* Host code of its own: never comes back.
 *
 * problem: linear
 * found: runtime_error timeout
 */
#include <kforge/program.h>

extern "C" int kf_forward(struct kf_call *)
{
	for (volatile int on = 1; on;)
		;
	return 0;
}
