/* Hopes that shared memory still holds what an earlier launch left there.
 *
 * class: results kept in shared memory
 * problem: linear
 * host: each
 * found: mismatch values|non_finite|unwritten
 * without: -, nothing that an earlier call computed is right for the next
 */
extern "C" __global__ void run(const float *x, const float *w, const float *b,
		float *y, long long n, long long depth, long long cols)
{
	__shared__ float left[64];
	long long i = blockIdx.x * 64ll + threadIdx.x;
	float sum;

	if (i >= n)
		return;
	if (left[threadIdx.x] > 0) {
		y[i] = left[threadIdx.x];
		return;
	}
	sum = b[i % cols];
	for (long long k = 0; k < depth; k++)
		sum += x[i / cols * depth + k] * w[i % cols * depth + k];
	y[i] = fmaxf(sum, 0);
	left[threadIdx.x] = y[i];
}
