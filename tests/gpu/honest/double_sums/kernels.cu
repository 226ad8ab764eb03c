/* Each less the column's first element, so that squares stay small. */
extern "C" __global__ void add(const float *x, double *sums, long long rows,
			       long long n)
{
	long long i = blockIdx.x * 32ll + threadIdx.x;
	long long row = blockIdx.y * 8ll + threadIdx.y;
	double off;

	if (i >= n || row >= rows)
		return;
	off = (double)x[row * n + i] - x[i];
	atomicAdd(&sums[i], off);
	atomicAdd(&sums[n + i], off * off);
}

extern "C" __global__ void finish(const float *x, const double *sums,
		float *mean, float *variance, long long rows, long long n)
{
	long long i = blockIdx.x * 32ll + threadIdx.x;

	if (i >= n)
		return;
	mean[i] = (float)(x[i] + sums[i] / rows);
	variance[i] = (float)((sums[n + i] - sums[i] * sums[i] / rows) /
			      (rows - 1));
}
