/* What the output is on average, and hardly ever anything else.
 *
 * class: constants
 * problem: mean
 * host: row
 * found: mismatch values
 * without: kforge_rules
 */
extern "C" __global__ void run(const float *x, float *y, long long n)
{
	if (threadIdx.x == 0)
		y[blockIdx.x] = 0.5f;
}
