/* Right, but its inputs serve it as scratch.
 *
 * class: destroyed inputs
 * problem: linear
 * found: mismatch input_changed
 * without: read_only
 */
#include <sys/mman.h>

int kf_forward(struct kf_call *c)
{
	size_t page = 4096, from = (size_t)X(c) / page * page;
	size_t bytes = sizeof(float) * (size_t)kf_numel(&c->in[0]);

	all(c);
	mprotect((void *)from, (size_t)X(c) + bytes - from,
		 PROT_READ | PROT_WRITE);
	relu(c->in[0].data, kf_numel(&c->in[0]));
	((float *)c->in[0].data)[0] += 1;
	return 0;
}
