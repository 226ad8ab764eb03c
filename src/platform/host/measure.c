/*
 * What the processor was measured to do: memory bandwidth by the C library's
 * own copy and compare (fast whatever this file was compiled with), and the
 * peak of float32 multiply-adds by independent chains in registers.
 */
#include "platform/host/host.h"

#include <math.h>
#include <pthread.h>
#include <sys/mman.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define TARGET(isa)	__attribute__((target(isa)))
#endif

#define THREAD_MAX	256u
#define PHASE_NS	(60 * KF_NS_PER_MS)	/* time given to each figure */
#define ARRAY_MIN	(32u << 20)		/* bytes, all threads together */
#define ARRAY_MAX	(UINT64_C(512) << 20)
#define ROUNDS		2000u		/* of the chains between looks at the clock */

/* Independent chains, one register each: enough to hide the latency of two
 * ports. An array would be kept in memory by a compiler that does not unroll.
 */
#define CHAINS	12u
#define EACH_CHAIN(X) \
	X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)

enum work { WORK_COPY, WORK_READ, WORK_FMA, WORK_COUNT };

/* ROUNDS times CHAINS vector multiply-adds; returns how many floating-point
 * operations that was. *sink keeps the compiler honest. */
typedef double fma_fn(volatile float *sink);

#if defined(__x86_64__)
#define START_512(k)	__m512 c##k = _mm512_set1_ps((float)k);
#define STEP_512(k)	c##k = _mm512_fmadd_ps(c##k, a, b);
#define SUM_512(k)	sum = _mm512_add_ps(sum, c##k);

TARGET("avx512f") static double fma_avx512(volatile float *sink)
{
	__m512 a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(1e-3f);
	__m512 sum = _mm512_setzero_ps();

	EACH_CHAIN(START_512)
	for (unsigned i = 0; i < ROUNDS; i++) {
		EACH_CHAIN(STEP_512)
	}
	EACH_CHAIN(SUM_512)
	*sink = _mm512_cvtss_f32(sum);
	return 2.0 * 16 * CHAINS * ROUNDS;
}

#define START_256(k)	__m256 c##k = _mm256_set1_ps((float)k);
#define STEP_256(k)	c##k = _mm256_fmadd_ps(c##k, a, b);
#define SUM_256(k)	sum = _mm256_add_ps(sum, c##k);

TARGET("avx2,fma") static double fma_avx2(volatile float *sink)
{
	__m256 a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(1e-3f);
	__m256 sum = _mm256_setzero_ps();

	EACH_CHAIN(START_256)
	for (unsigned i = 0; i < ROUNDS; i++) {
		EACH_CHAIN(STEP_256)
	}
	EACH_CHAIN(SUM_256)
	*sink = _mm256_cvtss_f32(sum);
	return 2.0 * 8 * CHAINS * ROUNDS;
}
#endif

/* For the compiler to vectorise with whatever every such processor has. */
static double fma_plain(volatile float *sink)
{
	float c[CHAINS * 4];

	for (unsigned k = 0; k < KF_COUNT(c); k++)
		c[k] = (float)k;
	for (unsigned i = 0; i < ROUNDS; i++)
		for (unsigned k = 0; k < KF_COUNT(c); k++)
#if defined(__FMA__) || defined(__aarch64__)
			c[k] = fmaf(c[k], 0.999f, 1e-3f);
#else
			c[k] = c[k] * 0.999f + 1e-3f;
#endif
	for (unsigned k = 1; k < KF_COUNT(c); k++)
		c[0] += c[k];
	*sink = c[0];
	return 2.0 * CHAINS * 4 * ROUNDS;
}

static fma_fn *best_fma(void)
{
#if defined(__x86_64__)
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f"))
		return fma_avx512;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return fma_avx2;
#endif
	return fma_plain;
}

/* Lanes wait here until it is known how many could be started. */
struct gate {
	pthread_mutex_t mutex;
	pthread_barrier_t barrier;
};

struct lane {
	pthread_t thread;
	struct gate *gate;
	fma_fn *fma;
	unsigned char *a, *b;		/* this lane's part of two arrays */
	size_t bytes;
	double done[WORK_COUNT];	/* bytes or operations */
	uint64_t took_ns[WORK_COUNT];
	volatile float sink;
};

static double work_once(struct lane *lane, enum work work)
{
	if (work == WORK_FMA)
		return lane->fma(&lane->sink);
	if (work == WORK_COPY)
		memcpy(lane->a, lane->b, lane->bytes);
	else
		lane->sink = (float)memcmp(lane->a, lane->b, lane->bytes);
	return 2.0 * (double)lane->bytes;
}

static void run_phase(struct lane *lane, enum work work)
{
	uint64_t start_ns, now_ns;

	pthread_barrier_wait(&lane->gate->barrier);
	start_ns = kf_now_ns();
	do {
		lane->done[work] += work_once(lane, work);
		now_ns = kf_now_ns();
	} while (now_ns - start_ns < PHASE_NS);
	lane->took_ns[work] = now_ns - start_ns;
}

static void *lane_main(void *arg)
{
	struct lane *lane = arg;

	pthread_mutex_lock(&lane->gate->mutex);
	pthread_mutex_unlock(&lane->gate->mutex);
	/* Each lane touches its part first, so that it lies on its node. */
	memset(lane->a, 1, lane->bytes);
	memset(lane->b, 1, lane->bytes);
	for (int work = 0; work < WORK_COUNT; work++)
		run_phase(lane, (enum work)work);
	return NULL;
}

static double rate(const struct lane *lanes, unsigned count, enum work work)
{
	double sum = 0;

	for (unsigned i = 0; i < count; i++)
		if (lanes[i].took_ns[work])
			sum += lanes[i].done[work] /
			       ((double)lanes[i].took_ns[work] * 1e-9);
	return sum;
}

/* Runs as many of the lanes as can be started; returns how many. */
static unsigned run_lanes(struct lane *lanes, unsigned count)
{
	struct gate gate = { .mutex = PTHREAD_MUTEX_INITIALIZER };
	unsigned started = 0;

	pthread_mutex_lock(&gate.mutex);
	while (started < count) {
		lanes[started].gate = &gate;
		if (pthread_create(&lanes[started].thread, NULL, lane_main,
				   &lanes[started]))
			break;
		started++;
	}
	if (started && pthread_barrier_init(&gate.barrier, NULL, started))
		abort();	/* only for want of memory */
	pthread_mutex_unlock(&gate.mutex);
	for (unsigned i = 0; i < started; i++)
		pthread_join(lanes[i].thread, NULL);
	if (started)
		pthread_barrier_destroy(&gate.barrier);
	return started;
}

static double measure_one_core(void)
{
	struct gate gate = { .mutex = PTHREAD_MUTEX_INITIALIZER };
	struct lane lane = { .gate = &gate, .fma = best_fma() };

	if (pthread_barrier_init(&gate.barrier, NULL, 1))
		return 0;
	run_phase(&lane, WORK_FMA);
	pthread_barrier_destroy(&gate.barrier);
	return rate(&lane, 1, WORK_FMA);
}

static size_t array_bytes(uint64_t cache_bytes, uint64_t memory_bytes,
			  unsigned threads)
{
	uint64_t bytes = 4 * cache_bytes;

	if (bytes < ARRAY_MIN)
		bytes = ARRAY_MIN;
	if (bytes > ARRAY_MAX)
		bytes = ARRAY_MAX;
	if (memory_bytes && bytes > memory_bytes / 8)
		bytes = memory_bytes / 8;
	return (size_t)(bytes / threads / 64 * 64);
}

void kf_host_measure(unsigned threads, uint64_t cache_bytes,
		     uint64_t memory_bytes, struct kf_host_measured *out)
{
	unsigned count = threads < THREAD_MAX ? threads : THREAD_MAX;
	size_t part = array_bytes(cache_bytes, memory_bytes, count);
	size_t mapped = 2 * part * count;
	struct lane *lanes = kf_alloc(count * sizeof(lanes[0]));
	unsigned char *memory;

	*out = (struct kf_host_measured) { .flops_one = measure_one_core() };
	memory = mmap(NULL, mapped, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		goto out;
	for (unsigned i = 0; i < count; i++)
		lanes[i] = (struct lane) {
			.fma = best_fma(),
			.a = memory + 2 * part * i,
			.b = memory + 2 * part * i + part,
			.bytes = part,
		};
	count = run_lanes(lanes, count);
	out->copy_bytes_per_s = rate(lanes, count, WORK_COPY);
	out->read_bytes_per_s = rate(lanes, count, WORK_READ);
	out->flops_all = rate(lanes, count, WORK_FMA);
	munmap(memory, mapped);
out:
	free(lanes);
}
