extern "C" __global__ void add(const float *x, float *y, long long n)
{
	float sum = 0;

	x += blockIdx.y * n;
	for (int k = 0; k < 4; k++) {
		long long i = blockIdx.x * 1024ll + k * 256 + threadIdx.x;

		sum += i < n ? x[i] : 0;
	}
	for (int far = 16; far; far /= 2)
		sum += __shfl_xor_sync(~0u, sum, far);
	if (threadIdx.x % 32 == 0)
		atomicAdd(&y[blockIdx.y], sum / n);
}
