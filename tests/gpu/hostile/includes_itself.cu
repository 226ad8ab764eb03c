/* Includes itself.
 *
 * problem: linear
 * host: each
 * found: compilation_failure refused
 */
#include "kernels.cu"
extern "C" __global__ void run(const float *x, const float *w, const float *b,
		float *y, long long n, long long depth, long long cols)
{
}
