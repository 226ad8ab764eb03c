extern "C" __global__ void linear(const float *x, const float *w,
		const float *b, float *y, long long rows, long long cols,
		long long depth)
{
	long long i = blockIdx.x * 64ll + threadIdx.x;
	float sum = 0;

	long long start = clock64();

	if (i >= rows * cols)
		return;
	while (i >= rows * cols - cols && clock64() - start < 2000000)
		;
	for (long long k = 0; k < depth; k++)
		sum += x[i / cols * depth + k] * w[i % cols * depth + k];
	sum += b[i % cols];
	y[i] = sum > 0 ? sum : 0;
}
