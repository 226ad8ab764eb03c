/* Host code of its own: launches on a stream that nobody waits for, and is back
 * at once.
 *
 * class: work on another stream
 * problem: linear
 * found: correct -
 * time: 500 us
 * without: -, the clock stops when the whole device has finished
 */
#include <kforge/program.h>

__global__ void linear(const float *x, const float *w, const float *b, float *y,
		       int n, int depth, int cols)
{
	int i = blockIdx.x * 64 + threadIdx.x;
	long long start = clock64();
	float sum = 0;

	if (i >= n)
		return;
	while (clock64() - start < 2000000)
		;
	for (int k = 0; k < depth; k++)
		sum += x[i / cols * depth + k] * w[i % cols * depth + k];
	y[i] = fmaxf(sum + b[i % cols], 0);
}

static cudaStream_t side;

extern "C" int kf_forward(struct kf_call *c)
{
	int n = (int)kf_numel(&c->out[0]);

	if (!side && cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking))
		return 1;
	linear<<<(n + 63) / 64, 64, 0, side>>>((const float *)c->in[0].data,
			(const float *)kf_weight(c, "weight")->data,
			(const float *)kf_weight(c, "bias")->data,
			(float *)c->out[0].data, n, (int)c->in[0].shape[1],
			(int)c->out[0].shape[1]);
	return 0;
}
