static __device__ float tf32(float x)
{
	unsigned bits;

	asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
	return __uint_as_float(bits);
}

extern "C" __global__ void linear(const float *x, const float *w,
		const float *b, float *y, long long rows, long long cols,
		long long depth)
{
	long long i = blockIdx.x * 64ll + threadIdx.x;
	float sum = 0;

	if (i >= rows * cols)
		return;
	for (long long k = 0; k < depth; k++)
		sum += tf32(x[i / cols * depth + k]) *
			tf32(w[i % cols * depth + k]);
	sum += b[i % cols];
	y[i] = sum > 0 ? sum : 0;
}
