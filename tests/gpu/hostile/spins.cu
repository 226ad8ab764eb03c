/* Never ends.
 *
 * problem: linear
 * host: each
 * found: runtime_error timeout
 */
extern "C" __global__ void run(const float *x, const float *w, const float *b,
		float *y, long long n, long long depth, long long cols)
{
	volatile float *last = y + n - 1;

	while (*last != 12345)
		;
}
