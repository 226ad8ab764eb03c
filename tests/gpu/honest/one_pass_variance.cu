/* Sums and sums of squares, each less the row's first element, in one pass.
 *
 * class: reordered sums
 * problem: norm
 * host: row
 * found: correct -
 */
static __device__ double group_sum(double x, double *room)
{
	room[threadIdx.x] = x;
	for (int far = 128; far; far /= 2) {
		__syncthreads();
		if (threadIdx.x < far)
			room[threadIdx.x] += room[threadIdx.x + far];
	}
	__syncthreads();
	return room[0];
}

extern "C" __global__ void run(const float *x, const float *gain,
			       const float *shift, float *y, long long n)
{
	__shared__ double room[2][256];
	double sum = 0, squares = 0;
	float mean, scale, first;

	x += blockIdx.x * n;
	first = x[0];
	for (long long i = threadIdx.x; i < n; i += 256) {
		double off = x[i] - first;

		sum += off;
		squares += off * off;
	}
	sum = group_sum(sum, room[0]) / n;
	squares = group_sum(squares, room[1]) / n - sum * sum;
	mean = (float)(first + sum);
	scale = (float)(1 / sqrt(squares + 1e-5));
	for (long long i = threadIdx.x; i < n; i += 256)
		y[blockIdx.x * n + i] = (x[i] - mean) * scale * gain[i] +
			shift[i];
}
