/* One block spins on after the others, and writes the last row late.
 *
 * class: work deferred
 * problem: linear
 * time: 500 us
 * host: each
 * found: correct -
 * without: -, a call is over when its last kernel is
 */
extern "C" __global__ void run(const float *x, const float *w, const float *b,
		float *y, long long n, long long depth, long long cols)
{
	long long i = blockIdx.x * 64ll + threadIdx.x;
	float sum;
	long long start = clock64();

	if (i >= n)
		return;
	while (i >= n - cols && clock64() - start < 2000000)
		;
	sum = b[i % cols];
	for (long long k = 0; k < depth; k++)
		sum += x[i / cols * depth + k] * w[i % cols * depth + k];
	y[i] = fmaxf(sum, 0);
}
