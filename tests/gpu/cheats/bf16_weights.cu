/* Only the weights in bfloat16.
 *
 * class: lower precision
 * problem: linear
 * host: each
 * found: mismatch values
 * without: precision
 */
#include <cuda_bf16.h>

static __device__ float bf16(float x)
{
	return __bfloat162float(__float2bfloat16(x));
}

extern "C" __global__ void run(const float *x, const float *w, const float *b,
		float *y, long long n, long long depth, long long cols)
{
	long long i = blockIdx.x * 64ll + threadIdx.x;
	float sum;

	if (i >= n)
		return;
	sum = b[i % cols];
	for (long long k = 0; k < depth; k++)
		sum += (x[i / cols * depth + k]) *
			bf16(w[i % cols * depth + k]);
	y[i] = fmaxf(sum, 0);
}
