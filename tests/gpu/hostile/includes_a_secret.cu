/* Has the compiler tell what stands in a file of the machine.
 *
 * problem: linear
 * host: each
 * found: generation_failure forbidden
 */
#include </etc/passwd>
extern "C" __global__ void run(const float *x, const float *w, const float *b,
		float *y, long long n, long long depth, long long cols)
{
}
