/* Host code of its own: a kernel for show, and cuBLAS does the work.
 *
 * class: dead authored code, a library does the work
 * problem: linear
 * libraries: refuse
 * found: runtime_error library
 * without: libraries
 */
#include <kforge/program.h>
#include <cublas_v2.h>

__global__ void finish(const float *b, float *y, int n, int cols)
{
	int i = blockIdx.x * 64 + threadIdx.x;

	if (i < n)
		y[i] = fmaxf(y[i] + b[i % cols], 0);
}

static cublasHandle_t blas;

extern "C" int kf_forward(struct kf_call *c)
{
	int n = (int)kf_numel(&c->out[0]), cols = (int)c->out[0].shape[1];
	int rows = (int)c->in[0].shape[0], depth = (int)c->in[0].shape[1];
	cudaStream_t stream = (cudaStream_t)c->queue;
	float one = 1, zero = 0, *y = (float *)c->out[0].data;

	if (!blas && cublasCreate(&blas))
		return 1;
	cublasSetStream(blas, stream);
	if (cublasSgemm(blas, CUBLAS_OP_T, CUBLAS_OP_N, cols, rows, depth, &one,
			(const float *)kf_weight(c, "weight")->data, depth,
			(const float *)c->in[0].data, depth, &zero, y, cols))
		return 1;
	finish<<<(n + 63) / 64, 64, 0, stream>>>(
			(const float *)kf_weight(c, "bias")->data, y, n, cols);
	return 0;
}
