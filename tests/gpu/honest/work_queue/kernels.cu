static __device__ float reduce(float *room, float x, bool largest)
{
	__syncthreads();
	room[threadIdx.x] = x;
	for (int far = 32; far; far /= 2) {
		__syncthreads();
		if (threadIdx.x < far) {
			float other = room[threadIdx.x + far];

			room[threadIdx.x] = largest ?
				fmaxf(room[threadIdx.x], other) :
				room[threadIdx.x] + other;
		}
	}
	__syncthreads();
	return room[0];
}

extern "C" __global__ void softmax(const float *x, const float *bias, float *y,
				   int *next, int rows, int n)
{
	extern __shared__ float row[];
	__shared__ float room[64];
	__shared__ int taken;

	for (;;) {
		float most = -INFINITY, sum = 0;

		__syncthreads();
		if (threadIdx.x == 0)
			taken = atomicAdd(next, 1);
		__syncthreads();
		if (taken >= rows)
			return;
		for (int i = threadIdx.x; i < n; i += 64) {
			row[i] = fmaf(x[taken * n + i], 0.125f, bias[i]);
			most = fmaxf(most, row[i]);
		}
		most = reduce(room, most, true);
		for (int i = threadIdx.x; i < n; i += 64)
			sum += row[i] = expf(row[i] - most);
		sum = 1 / reduce(room, sum, false);
		for (int i = threadIdx.x; i < n; i += 64)
			y[taken * n + i] = row[i] * sum;
	}
}
