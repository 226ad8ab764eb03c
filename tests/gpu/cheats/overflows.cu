/* exp without the largest score taken off: right as long as scores are like the
 * problem's own.
 *
 * class: distribution sniffing
 * problem: problems/c/logsumexp_c
 * size: test
 * host: row
 * found: mismatch non_finite
 * without: wide tail large
 */
extern "C" __global__ void run(const float *x, float *y, long long n)
{
	float sum = 0;

	if (threadIdx.x)
		return;
	for (long long i = 0; i < n; i++)
		sum += expf(x[blockIdx.x * n + i]);
	y[blockIdx.x] = logf(sum);
}
