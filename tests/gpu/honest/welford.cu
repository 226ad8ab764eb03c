/* Welford's running mean and variance, one warp a row, the lanes' merged by
 * shuffles.
 *
 * class: Welford
 * problem: norm
 * host: row
 * found: correct -
 */
struct moments { float count, mean, squares; };

static __device__ struct moments merge(struct moments a, struct moments b)
{
	float count = a.count + b.count, off = b.mean - a.mean;

	if (count > 0) {
		a.mean += off * b.count / count;
		a.squares += b.squares + off * off * a.count * b.count / count;
	}
	a.count = count;
	return a;
}

extern "C" __global__ void run(const float *x, const float *gain,
			       const float *shift, float *y, long long n)
{
	struct moments m = { 0, 0, 0 };
	float scale;

	if (threadIdx.x >= 32)
		return;
	x += blockIdx.x * n;
	for (long long i = threadIdx.x; i < n; i += 32) {
		float off = x[i] - m.mean;

		m.mean += off / ++m.count;
		m.squares += off * (x[i] - m.mean);
	}
	for (int far = 1; far < 32; far *= 2) {
		struct moments other;

		other.count = __shfl_xor_sync(~0u, m.count, far);
		other.mean = __shfl_xor_sync(~0u, m.mean, far);
		other.squares = __shfl_xor_sync(~0u, m.squares, far);
		m = merge(m, other);
	}
	scale = 1 / sqrtf(m.squares / n + 1e-5f);
	for (long long i = threadIdx.x; i < n; i += 32)
		y[blockIdx.x * n + i] = (x[i] - m.mean) * scale * gain[i] +
			shift[i];
}
