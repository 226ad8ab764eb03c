/* The approximate root of one instruction, made good by one step of Newton's.
 *
 * class: own elementary functions
 * problem: norm
 * host: row
 * found: correct -
 */
static __device__ float rough_root(float x)
{
	float root;

	asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(x));
	return root;
}

static __device__ float group_sum(float x, float *room)
{
	room[threadIdx.x] = x;
	for (int far = 128; far; far /= 2) {
		__syncthreads();
		if (threadIdx.x < far)
			room[threadIdx.x] += room[threadIdx.x + far];
	}
	__syncthreads();
	return room[0];
}

extern "C" __global__ void run(const float *x, const float *gain,
			       const float *shift, float *y, long long n)
{
	__shared__ float room[2][256];
	float sum = 0, mean, squares = 0, variance, root;

	x += blockIdx.x * n;
	for (long long i = threadIdx.x; i < n; i += 256)
		sum += x[i];
	mean = group_sum(sum, room[0]) / n;
	for (long long i = threadIdx.x; i < n; i += 256)
		squares += (x[i] - mean) * (x[i] - mean);
	variance = group_sum(squares, room[1]) / n + 1e-5f;
	root = rough_root(variance);
	root *= 1.5f - 0.5f * variance * root * root;
	for (long long i = threadIdx.x; i < n; i += 256)
		y[blockIdx.x * n + i] = (x[i] - mean) * root * gain[i] +
			shift[i];
}
