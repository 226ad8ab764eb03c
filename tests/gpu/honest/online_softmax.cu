/* The largest and the sum in one pass, corrected whenever a larger one comes;
 * then those of all threads are merged.
 *
 * class: online softmax
 * problem: shares
 * host: row
 * found: correct -
 */
struct running { float most, sum; };

static __device__ struct running merge(struct running a, struct running b)
{
	float most = fmaxf(a.most, b.most);

	if (isinf(most))
		return a;
	a.sum = a.sum * expf(a.most - most) + b.sum * expf(b.most - most);
	a.most = most;
	return a;
}

extern "C" __global__ void run(const float *x, float *y, long long n)
{
	__shared__ struct running part[256];
	struct running mine = { -INFINITY, 0 };

	x += blockIdx.x * n;
	y += blockIdx.x * n;
	for (long long i = threadIdx.x; i < n; i += 256)
		mine = merge(mine, { x[i], 1 });
	part[threadIdx.x] = mine;
	for (int far = 128; far; far /= 2) {
		__syncthreads();
		if (threadIdx.x < far)
			part[threadIdx.x] = merge(part[threadIdx.x],
						  part[threadIdx.x + far]);
	}
	__syncthreads();
	mine = part[0];
	for (long long i = threadIdx.x; i < n; i += 256)
		y[i] = expf(x[i] - mine.most) / mine.sum;
}
