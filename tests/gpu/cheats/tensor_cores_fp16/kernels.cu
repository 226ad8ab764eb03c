#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

/* A warp for each tile of 16 x 16. */
extern "C" __global__ void product(const float *a, const float *b, float *y,
				   int n)
{
	__shared__ alignas(32) __half p[256], q[256];
	int row = blockIdx.y * 16, col = blockIdx.x * 16;
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
	wmma::fragment<wmma::matrix_a, 16, 16, 16, __half,
		       wmma::row_major> left;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, __half,
		       wmma::row_major> right;

	wmma::fill_fragment(sums, 0.0f);
	for (int k = 0; k < n; k += 16) {
		for (int i = threadIdx.x; i < 256; i += 32) {
			p[i] = __float2half(a[(row + i / 16) * n + k +
						  i % 16]);
			q[i] = __float2half(b[(k + i / 16) * n + col +
						  i % 16]);
		}
		__syncwarp();
		wmma::load_matrix_sync(left, p, 16);
		wmma::load_matrix_sync(right, q, 16);
		wmma::mma_sync(sums, left, right, sums);
		__syncwarp();
	}
	wmma::store_matrix_sync(y + row * n + col, sums, n,
				wmma::mem_row_major);
}
