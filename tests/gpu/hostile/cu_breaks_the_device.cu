/* Host code of its own: a kernel that writes where no memory is.
 *
 * problem: linear
 * found: runtime_error device_fault
 */
#include <kforge/program.h>

__global__ void illegal(float *y)
{
	y[1ll << 44] = 1;
}

extern "C" int kf_forward(struct kf_call *c)
{
	illegal<<<1, 1, 0, (cudaStream_t)c->queue>>>((float *)c->out[0].data);
	return 0;
}
