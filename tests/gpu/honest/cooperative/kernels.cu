static __device__ void grid_sync(unsigned *count, unsigned turn)
{
	unsigned all = gridDim.x * gridDim.y * turn;

	__syncthreads();
	if (threadIdx.x == 0) {
		__threadfence();
		atomicAdd(count, 1u);
		while (atomicAdd(count, 0u) < all)
			__nanosleep(100);
		__threadfence();
	}
	__syncthreads();
}

static __device__ float reduce(float *room, float x, bool largest)
{
	room[threadIdx.x] = x;
	for (int far = 128; far; far /= 2) {
		__syncthreads();
		if (threadIdx.x < far) {
			float other = room[threadIdx.x + far];

			room[threadIdx.x] = largest ?
				fmaxf(room[threadIdx.x], other) :
				room[threadIdx.x] + other;
		}
	}
	return room[threadIdx.x];
}

extern "C" __global__ void softmax(const float *x, float *y,
		volatile float *largest, volatile float *sums, unsigned *count,
		long long n)
{
	__shared__ float room[2][256];
	long long first = blockIdx.x * 256 + threadIdx.x;
	long long step = gridDim.x * 256;
	float most = -INFINITY, sum = 0;

	x += blockIdx.y * n;
	y += blockIdx.y * n;
	largest += blockIdx.y * gridDim.x;
	sums += blockIdx.y * gridDim.x;
	for (long long i = first; i < n; i += step)
		most = fmaxf(most, x[i]);
	most = reduce(room[0], most, true);
	if (threadIdx.x == 0)
		largest[blockIdx.x] = most;
	grid_sync(count, 1);
	for (int i = 0; i < gridDim.x; i++)
		most = fmaxf(most, largest[i]);
	for (long long i = first; i < n; i += step)
		sum += expf(x[i] - most);
	sum = reduce(room[1], sum, false);
	if (threadIdx.x == 0)
		sums[blockIdx.x] = sum;
	grid_sync(count, 2);
	sum = 0;
	for (int i = 0; i < gridDim.x; i++)
		sum += sums[i];
	for (long long i = first; i < n; i += step)
		y[i] = expf(x[i] - most) / sum;
}
