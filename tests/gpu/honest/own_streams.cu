/* Host code of its own: half of the rows on another stream, which the caller's
 * waits for.
 *
 * class: several streams
 * problem: linear
 * found: correct -
 */
#include <kforge/program.h>

__global__ void linear(const float *x, const float *w, const float *b, float *y,
		       int n, int depth, int cols)
{
	int i = blockIdx.x * 64 + threadIdx.x;
	float sum = 0;

	if (i >= n)
		return;
	for (int k = 0; k < depth; k++)
		sum += x[i / cols * depth + k] * w[i % cols * depth + k];
	y[i] = fmaxf(sum + b[i % cols], 0);
}

static cudaStream_t side;
static cudaEvent_t begun, ended;

extern "C" int kf_forward(struct kf_call *c)
{
	cudaStream_t main = (cudaStream_t)c->queue;
	const float *x = (const float *)c->in[0].data;
	const float *w = (const float *)kf_weight(c, "weight")->data;
	const float *b = (const float *)kf_weight(c, "bias")->data;
	float *y = (float *)c->out[0].data;
	int rows = (int)c->in[0].shape[0], depth = (int)c->in[0].shape[1];
	int cols = (int)c->out[0].shape[1], half = rows / 2, rest = rows - half;

	if (!side && (cudaStreamCreate(&side) || cudaEventCreate(&begun) ||
		      cudaEventCreate(&ended)))
		return 1;
	cudaEventRecord(begun, main);
	cudaStreamWaitEvent(side, begun, 0);
	linear<<<(half * cols + 63) / 64, 64, 0, side>>>(x, w, b, y,
			half * cols, depth, cols);
	linear<<<(rest * cols + 63) / 64, 64, 0, main>>>(x + half * depth, w, b,
			y + half * cols, rest * cols, depth, cols);
	cudaEventRecord(ended, side);
	return cudaStreamWaitEvent(main, ended, 0) != cudaSuccess;
}
