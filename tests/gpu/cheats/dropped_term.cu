/* Leaves out the last of a thousand products, where all are positive.
 *
 * class: lower precision: dropped terms
 * problem: positive
 * host: each
 * found: mismatch values
 * without: precision zero_mean wide tail
 */
extern "C" __global__ void run(const float *a, const float *b, float *y,
			       long long n, long long depth, long long cols)
{
	long long i = blockIdx.x * 64ll + threadIdx.x;
	float sum = 0;

	if (i >= n)
		return;
	for (long long k = 0; k < depth - 1; k++)
		sum += a[i / cols * depth + k] * b[i % cols * depth + k];
	y[i] = sum;
}
