HERE_TEXT
extern "C" __global__ void axpby(const float *x, const float *y, float *z,
				 float a, float b, long long n)
{
	long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;

	if (i < n)
		z[i] = a * x[i] + b * y[i];
}
