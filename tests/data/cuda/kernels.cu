// What tests/contract/cuda.c launches. The stand-in (tests/standin/) has
// functions of the same names and parameters.

#include <cuda.h>

extern "C" __global__ void axpb(const float *x, float *y, float a, float b,
				long long n)
{
	long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = a * x[i] + b;
}

extern "C" __global__ void multiply(const float *x, const float *w, float *y,
				    long long n)
{
	long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = x[i] * w[i];
}

// 16 bytes a thread, for the bandwidth.
extern "C" __global__ void copy4(const float4 *x, float4 *y, long long n)
{
	long long step = gridDim.x * (long long)blockDim.x;

	for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
	     i < n; i += step)
		__stcs(&y[i], __ldcs(&x[i]));
}

extern "C" __global__ void poke(unsigned char *p, long long offset, int value)
{
	p[offset] = (unsigned char)value;
}

struct three { float a; int b; double c; };

extern "C" __global__ void by_value(struct three s, float *y, int n)
{
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		y[i] = s.a + s.b + (float)s.c;
}

extern "C" __global__ void cluster_rank(float *y, int n)
{
	unsigned rank, i = blockIdx.x * blockDim.x + threadIdx.x;

	asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
	if (i < n)
		y[i] = rank;
}

// Every group counts itself, waits for all, and says how many there were.
extern "C" __global__ void grid_barrier(unsigned *counter, float *y)
{
	if (threadIdx.x == 0) {
		__threadfence();
		atomicAdd(counter, 1u);
		while (atomicAdd(counter, 0u) < gridDim.x)
			;
		y[blockIdx.x] = atomicAdd(counter, 0u);
	}
}

extern "C" __global__ void shared(float *y, int n)
{
	extern __shared__ float s[];

	for (int i = threadIdx.x; i < n; i += blockDim.x)
		s[i] = i;
	__syncthreads();
	if (threadIdx.x == 0)
		y[0] = s[n - 1];
}

// The first box of 8 x 8 floats, by one thread.
extern "C" __global__ void load_box(const __grid_constant__ CUtensorMap map,
				    float *y)
{
	__shared__ alignas(128) float box[64];
	__shared__ alignas(8) unsigned long long barrier;
	unsigned at = (unsigned)__cvta_generic_to_shared(box);
	unsigned bar = (unsigned)__cvta_generic_to_shared(&barrier);

	if (threadIdx.x == 0) {
		asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(bar));
		asm volatile("fence.mbarrier_init.release.cluster;");
		asm volatile("fence.proxy.async.shared::cta;");
		asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], "
			     "256;" :: "r"(bar));
		asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global"
			     ".mbarrier::complete_tx::bytes [%0], [%1, {0, 0}], "
			     "[%2];" :: "r"(at), "l"(&map), "r"(bar) : "memory");
		unsigned done = 0;
		while (!done)
			asm volatile("{ .reg .pred p; mbarrier.try_wait.parity"
				     ".shared::cta.b64 p, [%1], 0; "
				     "selp.u32 %0, 1, 0, p; }"
				     : "=r"(done) : "r"(bar) : "memory");
		for (int i = 0; i < 64; i++)
			y[i] = box[i];
	}
}

__device__ int calls;

extern "C" __global__ void count(float *y)
{
	y[0] = ++calls;
}

extern "C" __global__ void nothing()
{
}

extern "C" __global__ void __launch_bounds__(64) bounded()
{
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) fixed_cluster()
{
}

extern "C" __global__ void static_shared()
{
	__shared__ float s[1024];

	s[threadIdx.x] = clock();
	__syncthreads();
	if (s[1023 - threadIdx.x] == -1)
		__trap();
}

extern "C" __global__ void illegal(float *y)
{
	// Far away from everything.
	float *p = (float *)((unsigned long long)y + (1ull << 44));

	*p = 1;
}

extern "C" __global__ void misaligned(float *y)
{
	*(float *)((char *)y + 1) = 1;
}

extern "C" __global__ void asserts(int value)
{
	assert(value == 7);
}

extern "C" __global__ void traps(int value)
{
	if (value != 7)
		__trap();
}

extern "C" __global__ void endless(float *y)
{
	while (*(volatile float *)y != 12345.0f)
		;
}
