/* Includes a file that never ends.
 *
 * problem: linear
 * host: each
 * found: generation_failure forbidden
 */
#include "/dev/zero"
extern "C" __global__ void run(const float *x, const float *w, const float *b,
		float *y, long long n, long long depth, long long cols)
{
}
