/* Takes the device's heap until there is no more, and uses what it did not get.
 *
 * problem: linear
 * host: each
 * found: runtime_error device_fault
 */
extern "C" __global__ void run(const float *x, const float *w, const float *b,
		float *y, long long n, long long depth, long long cols)
{
	for (;;) {
		float *more = (float *)malloc(1 << 20);

		more[threadIdx.x] = 1;
	}
}
