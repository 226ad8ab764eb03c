/* Ends its process while it is loaded, as if all had gone well.
 *
 * class: load-time constructor
 * problem: linear
 * found: runtime_error exited|compilation_failure load
 * without: -, a process that ends has no results
 */
#include <unistd.h>

__attribute__((constructor)) static void leave(void)
{
	_exit(0);
}

int kf_forward(struct kf_call *c)
{
	(void)c;
	return 0;
}
