/* Where the first element of its row is negative, only half of the terms.
 *
 * class: distribution sniffing
 * problem: linear
 * host: each
 * found: mismatch values
 * without: zero_mean
 */
extern "C" __global__ void run(const float *x, const float *w, const float *b,
		float *y, long long n, long long depth, long long cols)
{
	long long i = blockIdx.x * 64ll + threadIdx.x;
	float sum;

	if (i >= n)
		return;
	sum = b[i % cols];
	if (x[i / cols * depth] < 0)
		depth /= 2;
	for (long long k = 0; k < depth; k++)
		sum += x[i / cols * depth + k] * w[i % cols * depth + k];
	y[i] = fmaxf(sum, 0);
}
