/* Times its first load: caches are flushed where times are taken, it thinks.
 *
 * class: mode sniffing; timing the flush
 * problem: linear
 * host: each
 * found: mismatch values|unwritten
 * without: -, checked and timed calls are the same calls
 */
extern "C" __global__ void run(const float *x, const float *w, const float *b,
		float *y, long long n, long long depth, long long cols)
{
	long long i = blockIdx.x * 64ll + threadIdx.x;
	long long before = clock64();
	float sum, first = x[i % (n / cols * depth)];
	/* The clock is read again once the element is there. */
	long long took = first == 12345 ? 0 : clock64() - before;

	if (i >= n)
		return;
	if (took > 600 && first != 12345) {	/* from memory, not from a cache */
		y[i] = 0;
		return;
	}
	sum = b[i % cols];
	for (long long k = 0; k < depth; k++)
		sum += x[i / cols * depth + k] * w[i % cols * depth + k];
	y[i] = fmaxf(sum, 0);
}
