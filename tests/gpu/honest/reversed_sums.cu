/* From the last term to the first, odd ones and even ones apart.
 *
 * class: reordered sums
 * problem: linear
 * host: each
 * found: correct -
 */
extern "C" __global__ void run(const float *x, const float *w, const float *b,
		float *y, long long n, long long depth, long long cols)
{
	long long i = blockIdx.x * 64ll + threadIdx.x;
	float sum[2] = { 0, 0 };

	if (i >= n)
		return;
	for (long long k = depth; k-- > 0;)
		sum[k % 2] += x[i / cols * depth + k] * w[i % cols * depth + k];
	y[i] = fmaxf(sum[1] + (sum[0] + b[i % cols]), 0);
}
