// y = x * gain + shift; out = y / (max |y| of the row + 1e-6)
//
// PyTorch makes five passes over memory, one for each operation. Here a group
// of threads has one row: it is read once, y stays in shared memory while the
// maximum is found, and is written once.

__device__ float group_max(float v, float *warps)
{
	for (int k = 16; k > 0; k /= 2)
		v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, k));
	if (threadIdx.x % 32 == 0)
		warps[threadIdx.x / 32] = v;
	__syncthreads();
	v = threadIdx.x % 32 < blockDim.x / 32 ? warps[threadIdx.x % 32] : 0.0f;
	for (int k = 16; k > 0; k /= 2)
		v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, k));
	return v;
}

extern "C" __global__ void scale_rows(const float *__restrict__ x,
				      const float *__restrict__ gain,
				      const float *__restrict__ shift,
				      float *__restrict__ out, int n)
{
	extern __shared__ float y[];
	__shared__ float warps[32];
	long long row = (long long)blockIdx.x * n;
	float most = 0.0f;

	for (int i = threadIdx.x; i < n; i += blockDim.x) {
		float v = x[row + i] * gain[i] + shift[i];

		y[i] = v;
		most = fmaxf(most, fabsf(v));
	}
	float scale = 1.0f / (group_max(most, warps) + 1e-6f);

	// Each thread reads what it wrote itself.
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		out[row + i] = y[i] * scale;
}
