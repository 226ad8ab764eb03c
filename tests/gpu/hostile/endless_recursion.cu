/* Calls itself until the stack is full.
 *
 * problem: linear
 * host: each
 * found: runtime_error device_fault|timeout
 */
static __device__ __noinline__ float deeper(volatile float *y, float sum)
{
	volatile float here[64];

	for (int i = 0; i < 64; i++)
		here[i] = sum + y[i];
	return deeper(y, here[17]) + here[3];
}

extern "C" __global__ void run(const float *x, const float *w, const float *b,
		float *y, long long n, long long depth, long long cols)
{
	y[0] = deeper(y, x[0]);
}
