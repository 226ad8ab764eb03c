/* Writes where no memory is.
 *
 * problem: linear
 * host: each
 * found: runtime_error device_fault
 */
extern "C" __global__ void run(const float *x, const float *w, const float *b,
		float *y, long long n, long long depth, long long cols)
{
	y[1ll << 44] = x[0] + w[0] + b[0] + n + depth + cols;
}
