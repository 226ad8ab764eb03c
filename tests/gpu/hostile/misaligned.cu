/* Reads eight bytes from an address that is no multiple of eight.
 *
 * problem: linear
 * host: each
 * found: runtime_error device_fault
 */
extern "C" __global__ void run(const float *x, const float *w, const float *b,
		float *y, long long n, long long depth, long long cols)
{
	const char *at = (const char *)x + 2;

	y[0] = *(const double *)at;
}
