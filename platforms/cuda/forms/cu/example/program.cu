/*
 * y = x * gain + shift; out = y / (max |y| of the row + 1e-6)
 *
 * A row for each block: y goes into out while the largest |y| is found, and is
 * divided while the row is still in the L1 cache.
 */
#include <kforge/program.h>
#include <cuda_runtime.h>

static __device__ float row_max(float most, float *part)
{
	for (int step = 16; step; step /= 2)
		most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = most;
	__syncthreads();
	most = threadIdx.x % 32 < blockDim.x / 32 ? part[threadIdx.x % 32] : 0;
	for (int step = 16; step; step /= 2)
		most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
	return most;
}

static __global__ void scale_row(const float *x, const float *gain,
				 const float *shift, float *out, int64_t n)
{
	__shared__ float part[32];
	const float *from = x + blockIdx.x * n;
	float *to = out + blockIdx.x * n;
	float most = 0, scale;

	for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
		float y = from[i] * gain[i] + shift[i];

		to[i] = y;
		most = fmaxf(most, fabsf(y));
	}
	scale = 1 / (row_max(most, part) + 1e-6f);
	for (int64_t i = threadIdx.x; i < n; i += blockDim.x)
		to[i] *= scale;
}

extern "C" int kf_forward(struct kf_call *c)
{
	int64_t rows = c->in[0].shape[0], n = c->in[0].shape[1];

	scale_row<<<(unsigned)rows, 256, 0, (cudaStream_t)c->queue>>>(
		(const float *)c->in[0].data,
		(const float *)kf_weight(c, "gain")->data,
		(const float *)kf_weight(c, "shift")->data,
		(float *)c->out[0].data, n);
	return (int)cudaGetLastError();
}
