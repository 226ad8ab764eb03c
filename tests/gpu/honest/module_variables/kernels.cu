enum { FEATURES_MAX = 1024 };

__device__ float2 both[FEATURES_MAX];	/* gain and shift, side by side */

extern "C" __global__ void gather(const float *gain, const float *shift, int n)
{
	for (int i = threadIdx.x; i < n && i < FEATURES_MAX; i += 256)
		both[i] = make_float2(gain[i], shift[i]);
}

static __device__ float warp_sum(float x)
{
	for (int far = 16; far; far /= 2)
		x += __shfl_down_sync(~0u, x, far);
	return __shfl_sync(~0u, x, 0);
}

/* A warp for each row, eight to a group. */
extern "C" __global__ void normalise(const float *x, float *y, int rows, int n)
{
	int row = blockIdx.x * 8 + threadIdx.y;
	float mean = 0, squares = 0, scale;

	if (row >= rows)
		return;
	x += row * n;
	for (int i = threadIdx.x; i < n; i += 32)
		mean += x[i];
	mean = warp_sum(mean) / n;
	for (int i = threadIdx.x; i < n; i += 32)
		squares += (x[i] - mean) * (x[i] - mean);
	scale = 1 / sqrtf(warp_sum(squares) / n + 1e-5f);
	for (int i = threadIdx.x; i < n; i += 32)
		y[row * n + i] = fmaf((x[i] - mean) * scale, both[i].x,
				      both[i].y);
}
