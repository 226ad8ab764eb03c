/* Operands in half precision.
 *
 * class: lower precision
 * problem: linear
 * host: each
 * found: mismatch values
 * without: precision
 */
#include <cuda_fp16.h>

static __device__ float fp16(float x)
{
	return __half2float(__float2half(x));
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
		sum += fp16(x[i / cols * depth + k]) *
			fp16(w[i % cols * depth + k]);
	y[i] = fmaxf(sum, 0);
}
