static __device__ void begin_copy(float *to, const float *from)
{
	asm volatile("cp.async.ca.shared.global [%0], [%1], 16;"
		     :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from)
		     : "memory");
}

static __device__ void end_group(void)
{
	asm volatile("cp.async.commit_group;" ::: "memory");
}

/* For all groups but the last. */
static __device__ void wait_for_groups(void)
{
	asm volatile("cp.async.wait_group 1;" ::: "memory");
}

static __device__ void begin_row(float *to, const float *x, int row, int rows,
				 int n)
{
	for (int i = threadIdx.x * 4; row < rows && i < n; i += 128)
		begin_copy(to + i, x + row * n + i);
	end_group();
}

/* Groups of one warp, each with every second row. */
extern "C" __global__ void rms_norm(const float *x, const float *gain, float *y,
				    int rows, int n)
{
	__shared__ alignas(16) float room[2][512];
	int step = gridDim.x;

	begin_row(room[0], x, blockIdx.x, rows, n);
	for (int row = blockIdx.x, turn = 0; row < rows;
	     row += step, turn = 1 - turn) {
		float squares = 0, scale;

		begin_row(room[1 - turn], x, row + step, rows, n);
		wait_for_groups();
		__syncwarp();
		for (int i = threadIdx.x; i < n; i += 32)
			squares += room[turn][i] * room[turn][i];
		for (int far = 16; far; far /= 2)
			squares += __shfl_xor_sync(~0u, squares, far);
		scale = 1 / sqrtf(squares / n + 1e-5f);
		for (int i = threadIdx.x; i < n; i += 32)
			y[row * n + i] = room[turn][i] * scale * gain[i];
		__syncwarp();
	}
}
