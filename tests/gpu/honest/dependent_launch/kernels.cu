static __device__ float warp_sum(float x)
{
	for (int far = 16; far; far /= 2)
		x += __shfl_xor_sync(~0u, x, far);
	return x;
}

static __device__ void let_next_begin(void)
{
	asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

static __device__ void wait_for_last(void)
{
	asm volatile("griddepcontrol.wait;" ::: "memory");
}

extern "C" __global__ void look(const float *x, float *found, long long n)
{
	float mean = 0, squares = 0;

	let_next_begin();
	x += blockIdx.x * n;
	for (long long i = threadIdx.x; i < n; i += 32)
		mean += x[i];
	mean = warp_sum(mean) / n;
	for (long long i = threadIdx.x; i < n; i += 32)
		squares += (x[i] - mean) * (x[i] - mean);
	squares = warp_sum(squares);
	if (threadIdx.x)
		return;
	found[2 * blockIdx.x] = mean;
	found[2 * blockIdx.x + 1] = 1 / sqrtf(squares / n + 1e-5f);
}

/* Rows of 256 elements at most. */
extern "C" __global__ void apply(const float *x, const float *gain,
				 const float *shift, const float *found,
				 float *y, long long n)
{
	float at[2] = { 0, 0 }, by[2] = { 0, 0 }, plus[2] = { 0, 0 };
	float mean, scale;

	for (int k = 0; k < 2; k++) {
		long long i = threadIdx.x + k * 128;

		if (i < n) {
			at[k] = x[blockIdx.x * n + i];
			by[k] = gain[i];
			plus[k] = shift[i];
		}
	}
	wait_for_last();
	mean = found[2 * blockIdx.x];
	scale = found[2 * blockIdx.x + 1];
	for (int k = 0; k < 2; k++) {
		long long i = threadIdx.x + k * 128;

		if (i < n)
			y[blockIdx.x * n + i] = (at[k] - mean) * scale * by[k] +
				plus[k];
	}
}
