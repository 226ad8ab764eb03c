extern "C" __global__ void means(const float *x, float *mean, long long n)
{
	float sum = 0;

	for (long long i = 0; i < n; i++)
		sum += x[threadIdx.x * n + i];
	mean[threadIdx.x] = sum / n;
}

extern "C" __global__ void less_mean(const float *x, const float *mean,
		float *y, long long rows, long long n)
{
	long long i = blockIdx.x * 128ll + threadIdx.x;

	if (i < rows * n)
		y[i] = x[i] - mean[i / n];
}

extern "C" __global__ void scales(const float *off, float *scale, long long n)
{
	float sum = 0;

	for (long long i = 0; i < n; i++)
		sum += off[threadIdx.x * n + i] * off[threadIdx.x * n + i];
	scale[threadIdx.x] = 1 / sqrtf(sum / n + 1e-5f);
}

extern "C" __global__ void finish(const float *scale, const float *gain,
		const float *shift, float *y, long long rows, long long n)
{
	long long i = blockIdx.x * 128ll + threadIdx.x;

	if (i < rows * n)
		y[i] = y[i] * scale[i / n] * gain[i % n] + shift[i % n];
}
