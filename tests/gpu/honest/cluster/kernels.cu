static __device__ unsigned cluster_rank(void)
{
	unsigned rank;

	asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
	return rank;
}

/* Of all threads of all groups of the cluster. */
static __device__ void cluster_sync(void)
{
	asm volatile("barrier.cluster.arrive.release.aligned;\n"
		     "barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/* The float at the same place in another group's shared memory. */
static __device__ float remote(const float *mine, unsigned rank)
{
	unsigned at = (unsigned)__cvta_generic_to_shared(mine), there;
	float value;

	asm("mapa.shared::cluster.u32 %0, %1, %2;"
	    : "=r"(there) : "r"(at), "r"(rank));
	asm volatile("ld.shared::cluster.f32 %0, [%1];"
		     : "=f"(value) : "r"(there) : "memory");
	return value;
}

/* room[0] becomes what all of the group have together. */
static __device__ void reduce(float *room, float x, bool largest)
{
	room[threadIdx.x] = x;
	for (int far = 128; far; far /= 2) {
		__syncthreads();
		if (threadIdx.x < far) {
			float other = room[threadIdx.x + far];

			room[threadIdx.x] = largest ?
				fmaxf(room[threadIdx.x], other) :
				room[threadIdx.x] + other;
		}
	}
}

extern "C" __global__ void softmax(const float *x, float *y, long long n)
{
	__shared__ float largest[256], sums[256];
	unsigned rank = cluster_rank();
	long long row = blockIdx.x / 4, part = (n + 3) / 4;
	long long from = rank * part, to = from + part < n ? from + part : n;
	float most = -INFINITY, sum = 0;

	x += row * n;
	y += row * n;
	for (long long i = from + threadIdx.x; i < to; i += 256)
		most = fmaxf(most, x[i]);
	reduce(largest, most, true);
	cluster_sync();
	for (unsigned r = 0; r < 4; r++)
		most = fmaxf(most, remote(largest, r));
	for (long long i = from + threadIdx.x; i < to; i += 256)
		sum += expf(x[i] - most);
	reduce(sums, sum, false);
	cluster_sync();
	sum = 0;
	for (unsigned r = 0; r < 4; r++)
		sum += remote(sums, r);
	for (long long i = from + threadIdx.x; i < to; i += 256)
		y[i] = expf(x[i] - most) / sum;
	cluster_sync();		/* nobody leaves while others read */
}
