/* Masked scores become -infinity, and exp makes zeros of them.
 *
 * class: infinities
 * problem: tests/honest/problems/masked
 * host: row
 * found: correct -
 */
extern "C" __global__ void run(const float *x, const bool *valid, float *y,
			       long long n)
{
	float most = -INFINITY, sum = 0;

	x += blockIdx.x * n;
	valid += blockIdx.x * n;
	y += blockIdx.x * n;
	if (threadIdx.x >= 32)
		return;
	for (long long i = threadIdx.x; i < n; i += 32)
		most = fmaxf(most, x[i] + (valid[i] ? 0 : -INFINITY));
	for (int far = 16; far; far /= 2)
		most = fmaxf(most, __shfl_xor_sync(~0u, most, far));
	for (long long i = threadIdx.x; i < n; i += 32)
		sum += expf(x[i] + (valid[i] ? 0 : -INFINITY) - most);
	for (int far = 16; far; far /= 2)
		sum += __shfl_xor_sync(~0u, sum, far);
	for (long long i = threadIdx.x; i < n; i += 32)
		y[i] = expf(x[i] + (valid[i] ? 0 : -INFINITY) - most) / sum;
}
