/* An instruction that no other generation has: the program must be compiled for
 * this very device ("sm_90a"), and for no other.
 *
 * class: one generation's instructions
 * problem: linear
 * found: correct -
 */
#include <kforge/program.h>

#define GROUP 128	/* threads, four warps: what such an instruction takes */

__global__ void linear(const float *x, const float *w, const float *b, float *y,
		       int n, int depth, int cols)
{
	int i = blockIdx.x * GROUP + threadIdx.x;
	float sum = 0;

#if __CUDA_ARCH__ == 900
	asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
	if (i >= n)
		return;
	for (int k = 0; k < depth; k++)
		sum += x[i / cols * depth + k] * w[i % cols * depth + k];
	y[i] = fmaxf(sum + b[i % cols], 0);
}

extern "C" int kf_forward(struct kf_call *c)
{
	int depth = (int)c->in[0].shape[1], cols = (int)c->out[0].shape[1];
	int n = (int)c->out[0].shape[0] * cols;

	linear<<<(n + GROUP - 1) / GROUP, GROUP, 0, (cudaStream_t)c->queue>>>(
		(const float *)c->in[0].data,
		(const float *)kf_weight(c, "weight")->data,
		(const float *)kf_weight(c, "bias")->data,
		(float *)c->out[0].data, n, depth, cols);
	return cudaGetLastError() != cudaSuccess;
}
