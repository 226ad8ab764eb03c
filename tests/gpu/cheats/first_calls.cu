/* Right for the first fourteen calls, and quick from then on.
 *
 * class: right for the first N calls
 * problem: linear
 * host: each
 * found: mismatch values
 * without: every_call
 */
__device__ int calls[1 << 16];

extern "C" __global__ void run(const float *x, const float *w, const float *b,
		float *y, long long n, long long depth, long long cols)
{
	long long i = blockIdx.x * 64ll + threadIdx.x;
	float sum;

	if (i >= n)
		return;
	if (calls[i]++ >= 14) {
		y[i] = b[i % cols];
		return;
	}
	sum = b[i % cols];
	for (long long k = 0; k < depth; k++)
		sum += x[i / cols * depth + k] * w[i % cols * depth + k];
	y[i] = fmaxf(sum, 0);
}
