/* Operands in TF32, as tensor cores take them.
 *
 * class: lower precision
 * problem: linear
 * host: each
 * found: mismatch values
 * without: precision
 */
static __device__ float tf32(float x)
{
	unsigned bits;

	asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
	return __uint_as_float(bits);
}

extern "C" __global__ void run(const float *x, const float *w, const float *b,
		float *y, long long n, long long depth, long long cols)
{
	long long i = blockIdx.x * 64ll + threadIdx.x;
	float sum;

	if (i >= n)
		return;
	sum = b[i % cols];
	for (long long k = 0; k < depth; k++)
		sum += tf32(x[i / cols * depth + k]) *
			tf32(w[i % cols * depth + k]);
	y[i] = fmaxf(sum, 0);
}
