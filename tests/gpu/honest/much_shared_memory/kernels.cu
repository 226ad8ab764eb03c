/* Warps first, then what they found, in one warp. */
static __device__ float reduce(float x, bool largest)
{
	__shared__ float room[16];

	for (int far = 16; far; far /= 2) {
		float other = __shfl_xor_sync(~0u, x, far);

		x = largest ? fmaxf(x, other) : x + other;
	}
	__syncthreads();
	if (threadIdx.x % 32 == 0)
		room[threadIdx.x / 32] = x;
	__syncthreads();
	x = room[0];
	for (int i = 1; i < 16; i++)
		x = largest ? fmaxf(x, room[i]) : x + room[i];
	return x;
}

extern "C" __global__ void __launch_bounds__(512) softmax(const float *x,
							  float *y, int n)
{
	extern __shared__ float row[];
	float most = -INFINITY, sum = 0;

	x += (long long)blockIdx.x * n;
	y += (long long)blockIdx.x * n;
	for (int i = threadIdx.x; i < n; i += 512) {
		row[i] = x[i];
		most = fmaxf(most, row[i]);
	}
	most = reduce(most, true);
	for (int i = threadIdx.x; i < n; i += 512)
		sum += row[i] = expf(row[i] - most);
	sum = reduce(sum, false);
	for (int i = threadIdx.x; i < n; i += 512)
		y[i] = row[i] / sum;
}
