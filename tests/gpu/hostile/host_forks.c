/* Makes processes without end.
 *
 * platform: cuda
 * problem: linear
 * found: runtime_error violation|nonzero_return
 */
#include <kforge/launch.h>

int fork(void);

int kf_forward(struct kf_call *c)
{
	(void)c;
	for (int i = 0; i < 1000; i++)
		if (fork() < 0)
			return 1;
	return 2;
}
