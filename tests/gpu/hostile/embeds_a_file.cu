/* Has the assembler put a file into the program.
 *
 * problem: linear
 * host: each
 * found: generation_failure forbidden
 */
asm(".incbin \"/etc/passwd\"");
extern "C" __global__ void run(const float *x, const float *w, const float *b,
		float *y, long long n, long long depth, long long cols)
{
}
