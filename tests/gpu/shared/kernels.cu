/* What a host.c that stands alone launches: y = relu(x w^T + b). */
extern "C" __global__ void linear(const float *x, const float *w,
		const float *b, float *y, long long n, long long depth,
		long long cols)
{
	long long i = blockIdx.x * 64ll + threadIdx.x;
	float sum;

	if (i >= n)
		return;
	sum = b[i % cols];
	for (long long k = 0; k < depth; k++)
		sum += x[i / cols * depth + k] * w[i % cols * depth + k];
	y[i] = fmaxf(sum, 0);
}
