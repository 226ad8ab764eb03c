/* A product of its own that is never called, for a library is looked for first.
 *
 * class: dead authored code, a library does the work
 * problem: linear
 * found: runtime_error violation|nonzero_return
 * without: -, there is no library where programs run
 */
#include <dlfcn.h>

int kf_forward(struct kf_call *c)
{
	void *library = dlopen("libopenblas.so.0", RTLD_NOW);

	if (!library)
		library = dlopen("/usr/lib/x86_64-linux-gnu/libopenblas.so.0",
				 RTLD_NOW);
	if (!library)
		return 7;
	all(c);
	return 0;
}
