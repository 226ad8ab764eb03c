#include <cuda.h>

enum { TILE = 32, BYTES = 2 * TILE * TILE * 4 };

static __device__ unsigned address(const void *shared)
{
	return (unsigned)__cvta_generic_to_shared(shared);
}

static __device__ void barrier_init(unsigned long long *barrier)
{
	asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;"
		     :: "r"(address(barrier)) : "memory");
}

static __device__ void show_barriers(void)
{
	asm volatile("fence.mbarrier_init.release.cluster;\n"
		     "fence.proxy.async.shared::cta;" ::: "memory");
}

static __device__ void expect(unsigned long long *barrier)
{
	asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
		     :: "r"(address(barrier)), "r"(BYTES) : "memory");
}

static __device__ void load(float *to, const CUtensorMap *map, int col, int row,
			    unsigned long long *barrier)
{
	asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global"
		     ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
		     :: "r"(address(to)), "l"(map), "r"(col), "r"(row),
			"r"(address(barrier)) : "memory");
}

static __device__ void wait(unsigned long long *barrier, unsigned parity)
{
	unsigned done = 0;

	while (!done)
		asm volatile("{ .reg .pred p;\n"
			     "mbarrier.try_wait.parity.shared::cta.b64 p, "
			     "[%1], %2;\nselp.u32 %0, 1, 0, p; }"
			     : "=r"(done) : "r"(address(barrier)), "r"(parity)
			     : "memory");
}

/* A tile of 32 x 32; each thread has four neighbours of a row. */
extern "C" __global__ void product(const __grid_constant__ CUtensorMap a,
				    const __grid_constant__ CUtensorMap b,
				    float *y, int n)
{
	__shared__ alignas(128) float p[2][TILE * TILE], q[2][TILE * TILE];
	__shared__ alignas(8) unsigned long long barrier[2];
	int row = threadIdx.x / 8, col = threadIdx.x % 8 * 4;
	float sum[4] = { 0, 0, 0, 0 };

	if (threadIdx.x == 0) {
		barrier_init(&barrier[0]);
		barrier_init(&barrier[1]);
		show_barriers();
	}
	__syncthreads();
	for (int step = -1; step < n / TILE; step++) {
		int next = step + 1, stage = next % 2;

		if (threadIdx.x == 0 && next < n / TILE) {
			expect(&barrier[stage]);
			load(p[stage], &a, next * TILE, blockIdx.y * TILE,
			     &barrier[stage]);
			load(q[stage], &b, blockIdx.x * TILE, next * TILE,
			     &barrier[stage]);
		}
		if (step < 0)
			continue;
		stage = step % 2;
		wait(&barrier[stage], step / 2 % 2);
		for (int k = 0; k < TILE; k++)
			for (int i = 0; i < 4; i++)
				sum[i] += p[stage][row * TILE + k] *
					q[stage][k * TILE + col + i];
		__syncthreads();	/* all have read: it may be written */
	}
	y += (blockIdx.y * TILE + row) * n + blockIdx.x * TILE + col;
	for (int i = 0; i < 4; i++)
		y[i] = sum[i];
}
