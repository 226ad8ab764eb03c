/* Whole groups only: the tail is left as it was.
 *
 * class: stale or unwritten output
 * problem: linear
 * host: each
 * found: mismatch unwritten
 * without: oracle_apart
 */
extern "C" __global__ void run(const float *x, const float *w, const float *b,
		float *y, long long n, long long depth, long long cols)
{
	long long i = blockIdx.x * 64ll + threadIdx.x;
	float sum;

	if (i >= n - 7)
		return;
	sum = b[i % cols];
	for (long long k = 0; k < depth; k++)
		sum += x[i / cols * depth + k] * w[i % cols * depth + k];
	y[i] = fmaxf(sum, 0);
}
