/* Reads from address zero.
 *
 * problem: linear
 * host: each
 * found: runtime_error device_fault
 */
extern "C" __global__ void run(const float *x, const float *w, const float *b,
		float *y, long long n, long long depth, long long cols)
{
	const float *nowhere = x - (unsigned long long)x / 4;

	y[0] = nowhere[threadIdx.x];
}
