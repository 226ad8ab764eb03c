#include <cuda_bf16.h>
#include <mma.h>

using namespace nvcuda;

typedef wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16,
		       wmma::row_major> left;
typedef wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16,
		       wmma::row_major> right;
typedef wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;

/* A tile of 16 x 16 floats as three of bfloat16. */
static __device__ void split(const float *from, int n,
			     __nv_bfloat16 to[3][256])
{
	for (int i = threadIdx.x; i < 256; i += 32) {
		float x = from[i / 16 * n + i % 16];

		for (int part = 0; part < 3; part++) {
			to[part][i] = __float2bfloat16(x);
			x -= __bfloat162float(to[part][i]);
		}
	}
}

/* A warp for each tile of 16 x 16. */
extern "C" __global__ void product(const float *a, const float *b, float *y,
				    int n)
{
	__shared__ alignas(32) __nv_bfloat16 p[3][256], q[3][256];
	__shared__ alignas(32) float added[2][256];
	int row = blockIdx.y * 16, col = blockIdx.x * 16;
	sums high, low;

	wmma::fill_fragment(high, 0.0f);
	wmma::fill_fragment(low, 0.0f);
	for (int k = 0; k < n; k += 16) {
		left x[3];
		right z[3];

		split(a + row * n + k, n, p);
		split(b + k * n + col, n, q);
		__syncwarp();
		for (int part = 0; part < 3; part++) {
			wmma::load_matrix_sync(x[part], p[part], 16);
			wmma::load_matrix_sync(z[part], q[part], 16);
		}
		wmma::mma_sync(high, x[0], z[0], high);
		wmma::mma_sync(low, x[0], z[1], low);
		wmma::mma_sync(low, x[1], z[0], low);
		wmma::mma_sync(low, x[1], z[1], low);
		wmma::mma_sync(low, x[0], z[2], low);
		wmma::mma_sync(low, x[2], z[0], low);
		__syncwarp();
	}
	wmma::store_matrix_sync(added[0], high, 16, wmma::mem_row_major);
	wmma::store_matrix_sync(added[1], low, 16, wmma::mem_row_major);
	__syncwarp();
	for (int i = threadIdx.x; i < 256; i += 32)
		y[(row + i / 16) * n + col + i % 16] = added[0][i] +
			added[1][i];
}
