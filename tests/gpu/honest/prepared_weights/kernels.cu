extern "C" __global__ void turn(const float *w, float *turned, long long cols,
				long long depth)
{
	long long i = blockIdx.x * 256ll + threadIdx.x;

	if (i < cols * depth)
		turned[i % depth * cols + i / depth] = w[i];
}

extern "C" __global__ void product(const float *x, const float *turned,
		const float *bias, float *y, long long cols, long long depth)
{
	x += blockIdx.x * depth;
	for (long long j = threadIdx.x; j < cols; j += 64) {
		float sum = bias[j];

		for (long long k = 0; k < depth; k++)
			sum += x[k] * turned[k * cols + j];
		y[blockIdx.x * cols + j] = fmaxf(sum, 0);
	}
}
