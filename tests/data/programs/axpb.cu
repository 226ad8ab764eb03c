/* Launched by axpb.host.c: y = 2 x + 1. */
extern "C" __global__ void axpb(const float *x, float *y, long long n)
{
	long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = 2.0f * x[i] + 1.0f;
}
