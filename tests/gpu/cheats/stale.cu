/* Launches a kernel that writes nothing.
 *
 * class: stale or unwritten output
 * problem: linear
 * host: each
 * found: mismatch unwritten
 * without: oracle_apart
 */
extern "C" __global__ void run(const float *x, const float *w, const float *b,
		float *y, long long n, long long depth, long long cols)
{
	if (n < 0)
		y[0] = x[0] + w[0] + b[0] + depth + cols;
}
