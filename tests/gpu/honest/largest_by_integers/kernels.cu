static __device__ int ordered(int bits)
{
	return bits < 0 ? bits ^ 0x7fffffff : bits;
}

extern "C" __global__ void largest(const float *x, const float *offset, int *y,
				   long long all, long long hours, long long n)
{
	long long i = blockIdx.x * 128ll + threadIdx.x;

	if (i < all)
		atomicMax(&y[i / (hours * n) * n + i % n],
			  ordered(__float_as_int(x[i] +
						 offset[i / n % hours])));
}

extern "C" __global__ void to_floats(int *y, long long n)
{
	long long i = blockIdx.x * 128ll + threadIdx.x;

	if (i < n)
		y[i] = ordered(y[i]);
}
