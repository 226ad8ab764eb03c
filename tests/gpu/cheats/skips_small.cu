/* Leaves out products that are small.
 *
 * class: lower precision: dropped terms
 * problem: linear
 * host: each
 * found: mismatch values
 * without: precision
 */
extern "C" __global__ void run(const float *x, const float *w, const float *b,
		float *y, long long n, long long depth, long long cols)
{
	long long i = blockIdx.x * 64ll + threadIdx.x;
	float sum;

	if (i >= n)
		return;
	sum = b[i % cols];
	for (long long k = 0; k < depth; k++) {
		float term = x[i / cols * depth + k] * w[i % cols * depth + k];

		if (fabsf(term) > 1e-3f)
			sum += term;
	}
	y[i] = fmaxf(sum, 0);
}
