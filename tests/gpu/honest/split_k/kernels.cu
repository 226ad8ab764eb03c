extern "C" __global__ void product(const float *a, const float *b, float *y,
		long long rows, long long cols, long long inner)
{
	long long row = blockIdx.y * 8 + threadIdx.y;
	long long col = blockIdx.x * 8 + threadIdx.x;
	long long part = (inner + gridDim.z - 1) / gridDim.z;
	long long from = blockIdx.z * part, to = from + part;
	float sum = 0;

	if (row >= rows || col >= cols)
		return;
	for (long long k = from; k < to && k < inner; k++)
		sum += a[row * inner + k] * b[col * inner + k];
	atomicAdd(&y[row * cols + col], sum);
}
