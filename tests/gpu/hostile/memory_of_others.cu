/* Looks at all memory around its own, as far as it gets.
 *
 * problem: linear
 * host: each
 * found: runtime_error device_fault
 */
extern "C" __global__ void run(const float *x, const float *w, const float *b,
		float *y, long long n, long long depth, long long cols)
{
	float sum = 0;

	for (long long far = 0; far < 1ll << 42; far += 1 << 20)
		sum += x[far] + x[-far];
	y[0] = sum;
}
