extern "C" __global__ void linear(const float *x, const float *w,
		const float *b, float *y, long long rows, long long cols,
		long long depth)
{
	long long i = blockIdx.x * 64ll + threadIdx.x;
	float sum = 0;

	if (i < 0)
		y[0] = sum + x[0] + w[0] + b[0] + rows + cols + depth;
}
