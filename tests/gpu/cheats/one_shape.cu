/* Knows the shape that it was shown.
 *
 * class: only checked shapes
 * problem: linear
 * shapes: ROWS=24 ROWS=31
 * host: each
 * found: mismatch unwritten
 * without: other_shapes
 */
extern "C" __global__ void run(const float *x, const float *w, const float *b,
		float *y, long long n, long long depth, long long cols)
{
	long long i = blockIdx.x * 64ll + threadIdx.x;
	float sum;

	if (i >= 24 * 40)
		return;
	sum = b[i % cols];
	for (long long k = 0; k < depth; k++)
		sum += x[i / cols * depth + k] * w[i % cols * depth + k];
	y[i] = fmaxf(sum, 0);
}
