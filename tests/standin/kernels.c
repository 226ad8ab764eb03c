/* What the kernels of tests do: those of tests/data/cuda, and kforge's own. */
#include "standin.h"

#include <stdlib.h>

static uint64_t u64(const void *arg)
{
	uint64_t value;

	memcpy(&value, arg, sizeof(value));
	return value;
}

static int i32(const void *arg)
{
	int value;

	memcpy(&value, arg, sizeof(value));
	return value;
}

static float f32(const void *arg)
{
	float value;

	memcpy(&value, arg, sizeof(value));
	return value;
}

/* (x, y, a, b, n): y = a x + b */
static int run_axpb(void *const *arg, const struct kf_cuda_launch *launch)
{
	const float *x = pointer(u64(arg[0]));
	float *y = pointer(u64(arg[1])), a = f32(arg[2]), b = f32(arg[3]);
	int64_t n = (int64_t)u64(arg[4]);

	if ((int64_t)launch->grid[0] * launch->block[0] < n)
		n = (int64_t)launch->grid[0] * launch->block[0];
	if (!on_device(u64(arg[0]), (uint64_t)n * 4) ||
	    !on_device(u64(arg[1]), (uint64_t)n * 4))
		return KF_CUDA_ILLEGAL_ADDRESS;
	for (int64_t i = 0; i < n; i++)
		y[i] = a * x[i] + b;
	return 0;
}

/* (x, y, z, a, b, n): z = a x + b y */
static int run_axpby(void *const *arg, const struct kf_cuda_launch *launch)
{
	const float *x = pointer(u64(arg[0])), *y = pointer(u64(arg[1]));
	float *z = pointer(u64(arg[2])), a = f32(arg[3]), b = f32(arg[4]);
	int64_t n = (int64_t)u64(arg[5]);

	if ((int64_t)launch->grid[0] * launch->block[0] < n)
		n = (int64_t)launch->grid[0] * launch->block[0];
	for (int64_t i = 0; i < n; i++)
		z[i] = a * x[i] + b * y[i];
	return 0;
}

/* (x, w, y, n): y = x w */
static int run_multiply(void *const *arg, const struct kf_cuda_launch *launch)
{
	const float *x = pointer(u64(arg[0])), *w = pointer(u64(arg[1]));
	float *y = pointer(u64(arg[2]));
	int64_t n = (int64_t)u64(arg[3]);

	(void)launch;
	for (int64_t i = 0; i < n; i++)
		y[i] = x[i] * w[i];
	return 0;
}

/* (x, k, w, y, n, columns): y = k ? w x : x */
static int run_choose(void *const *arg, const struct kf_cuda_launch *launch)
{
	const float *x = pointer(u64(arg[0])), *w = pointer(u64(arg[2]));
	const unsigned char *k = pointer(u64(arg[1]));
	float *y = pointer(u64(arg[3]));
	int64_t n = (int64_t)u64(arg[4]), columns = (int64_t)u64(arg[5]);

	(void)launch;
	for (int64_t i = 0; i < n; i++)
		y[i] = k[i] ? w[i % columns] * x[i] : x[i];
	return 0;
}

/* (p, offset, value): one byte */
static int run_poke(void *const *arg, const struct kf_cuda_launch *launch)
{
	uint64_t at = u64(arg[0]) + u64(arg[1]);

	(void)launch;
	if (!on_device(at, 1))
		return KF_CUDA_ILLEGAL_ADDRESS;
	*(unsigned char *)pointer(at) = (unsigned char)i32(arg[2]);
	return 0;
}

/* (s, y, n) with struct { float a; int b; double c; } s: y = s.a + s.b + s.c */
static int run_by_value(void *const *arg, const struct kf_cuda_launch *launch)
{
	struct { float a; int b; double c; } s;
	float *y = pointer(u64(arg[1]));

	(void)launch;
	memcpy(&s, arg[0], sizeof(s));
	for (int i = 0; i < i32(arg[2]); i++)
		y[i] = s.a + (float)s.b + (float)s.c;
	return 0;
}

/* (y, n): y = rank of the group in its cluster */
static int run_cluster_rank(void *const *arg,
			    const struct kf_cuda_launch *launch)
{
	float *y = pointer(u64(arg[0]));
	unsigned size = 1;

	if (launch->attribute_count)
		size = launch->attribute[0].value.dim.x;
	for (int i = 0; i < i32(arg[1]); i++)
		y[i] = (float)((unsigned)i / launch->block[0] % size);
	return 0;
}

/* (counter, y): y[0] = the groups that had come when the last one went on */
static int run_grid_barrier(void *const *arg,
			    const struct kf_cuda_launch *launch)
{
	float *y = pointer(u64(arg[1]));

	for (unsigned i = 0; i < launch->grid[0]; i++)
		y[i] = (float)launch->grid[0];
	return 0;
}

/* (y, n): the last of n floats of dynamic shared memory, through it */
static int run_shared(void *const *arg, const struct kf_cuda_launch *launch)
{
	float *y = pointer(u64(arg[0]));
	int n = i32(arg[1]);

	y[0] = (unsigned)n * 4 <= launch->shared_bytes ? (float)(n - 1) : -1;
	return 0;
}

/* (map, y): the first box, 8 x 8 floats */
static int run_load_box(void *const *arg, const struct kf_cuda_launch *launch)
{
	const unsigned char *map = arg[0];
	const float *from = pointer(u64(map));
	uint64_t row_bytes = u64(map + 8);
	float *y = pointer(u64(arg[1]));

	(void)launch;
	for (uint64_t i = 0; i < 64; i++)
		y[i] = from[i / 8 * (row_bytes / 4) + i % 8];
	return 0;
}

/* (y): a variable of the module, counted up. Every call of this one is the
 * first, for a real module is loaded afresh. */
static int run_count(void *const *arg, const struct kf_cuda_launch *launch)
{
	float *y = pointer(u64(arg[0]));

	(void)launch;
	y[0] = 1;
	return 0;
}

static int run_nothing(void *const *arg, const struct kf_cuda_launch *launch)
{
	(void)arg;
	(void)launch;
	return 0;
}

static int run_illegal(void *const *arg, const struct kf_cuda_launch *launch)
{
	(void)arg;
	(void)launch;
	return KF_CUDA_ILLEGAL_ADDRESS;
}

static int run_asserts(void *const *arg, const struct kf_cuda_launch *launch)
{
	(void)arg;
	(void)launch;
	return KF_CUDA_ASSERT;
}

static int run_traps(void *const *arg, const struct kf_cuda_launch *launch)
{
	(void)arg;
	(void)launch;
	return KF_CUDA_LAUNCH_FAILED;
}

uint64_t standin_lag_ns;

/* Works for 4 ms and writes to the driver's records that it was 4 us. */
static int run_forges(void *const *arg, const struct kf_cuda_launch *launch)
{
	uint64_t start_ns = standin_now_ns(), took_ns = 0;

	(void)arg;
	(void)launch;
	while (took_ns < 4000000)
		took_ns = standin_now_ns() - start_ns;
	standin_lag_ns += took_ns - 4000;
	return 0;
}

static int run_misaligned(void *const *arg, const struct kf_cuda_launch *launch)
{
	(void)arg;
	(void)launch;
	return KF_CUDA_MISALIGNED_ADDRESS;
}

/* (in, words, out): FNV over each chunk; like tools.c's only in that a change
 * is seen. */
static int run_digest(void *const *arg, const struct kf_cuda_launch *launch)
{
	const uint64_t *in = pointer(u64(arg[0]));
	uint64_t words = u64(arg[1]) * 2, chunk = (UINT64_C(256) << 10) / 8;
	uint64_t *out = pointer(u64(arg[2]));

	/* An ill device computes, but not what it is told to. */
	if (getenv("STANDIN_ILL"))
		out[0] += standin_now_ns();
	for (unsigned k = 0; k < launch->grid[0]; k++) {
		uint64_t h = UINT64_C(0xcbf29ce484222325);

		for (uint64_t i = k * chunk; i < words && i < (k + 1) * chunk;
		     i++)
			h = (h ^ in[i]) * UINT64_C(0x100000001b3);
		out[k] += h;
	}
	return 0;
}

/* (in, numel, sign, out): as tools.c's, but for the order of adding. */
static int run_sums(void *const *arg, const struct kf_cuda_launch *launch)
{
	const float *in = pointer(u64(arg[0]));
	const int8_t *sign = pointer(u64(arg[2]));
	double *out = pointer(u64(arg[3]));
	uint64_t numel = u64(arg[1]), chunks = (numel + 4095) / 4096;

	if (launch->grid[0] * (launch->block[0] / 32) < chunks)
		return KF_CUDA_ILLEGAL_ADDRESS;
	for (uint64_t i = 0; i < chunks * 4; i++)
		out[i] = 0;
	for (uint64_t i = 0; i < numel; i++)
		for (uint64_t k = 0; k < 4; k++)
			out[i / 4096 * 4 + k] += (double)in[i] *
				sign[k * 4096 + i % 4096];
	return 0;
}

static double f64(const void *arg)
{
	double value;

	memcpy(&value, arg, sizeof(value));
	return value;
}

/* (base, in, numel, column, row, shift, tail, tail_from): as tools.c's. */
static int run_fresh(void *const *arg, const struct kf_cuda_launch *launch)
{
	const float *base = pointer(u64(arg[0])), *row = pointer(u64(arg[4]));
	const float *column = u64(arg[3]) ? pointer(u64(arg[3])) : NULL;
	float *in = pointer(u64(arg[1]));
	uint64_t numel = u64(arg[2]), tail = u64(arg[6]);

	if (launch->grid[0] != (numel + 4095) / 4096 ||
	    launch->block[0] != 256)
		return KF_CUDA_ILLEGAL_ADDRESS;
	for (uint64_t i = 0; i < numel; i++) {
		float v = base[i];

		if (column)
			v = (float)((double)v * (double)column[i % 4096] *
				    (double)row[i / 4096] - f64(arg[5]));
		in[i] = tail && i % tail >= u64(arg[7]) ? 8 * v : v;
	}
	return 0;
}

const struct kernel standin_kernel[] = {
	{ .name = "axpb", .run = run_axpb, .bytes = { 8, 8, 4, 4, 8 } },
	{ .name = "axpby", .run = run_axpby, .bytes = { 8, 8, 8, 4, 4, 8 } },
	{ .name = "multiply", .run = run_multiply, .bytes = { 8, 8, 8, 8 } },
	{ .name = "choose", .run = run_choose,
	  .bytes = { 8, 8, 8, 8, 8, 8 } },
	{ .name = "poke", .run = run_poke, .bytes = { 8, 8, 4 } },
	{ .name = "by_value", .run = run_by_value, .bytes = { 16, 8, 4 } },
	{ .name = "cluster_rank", .run = run_cluster_rank, .bytes = { 8, 4 } },
	{ .name = "grid_barrier", .run = run_grid_barrier, .bytes = { 8, 8 } },
	{ .name = "shared", .run = run_shared, .bytes = { 8, 4 } },
	{ .name = "load_box", .run = run_load_box, .bytes = { 128, 8 } },
	{ .name = "count", .run = run_count, .bytes = { 8 } },
	{ .name = "nothing", .run = run_nothing, .bytes = { 0 } },
	{ .name = "bounded", .run = run_nothing, .threads = 64 },
	{ .name = "explicit_cluster", .run = run_nothing, .cluster = 2 },
	{ .name = "static_shared", .run = run_nothing, .fixed_shared = 4096 },
	{ .name = "illegal", .run = run_illegal, .bytes = { 8 } },
	{ .name = "asserts", .run = run_asserts, .bytes = { 4 } },
	{ .name = "traps", .run = run_traps, .bytes = { 4 } },
	{ .name = "misaligned", .run = run_misaligned, .bytes = { 8 } },
	{ .name = "forges", .run = run_forges, .bytes = { 0 } },
	{ .name = "endless", .run = run_nothing, .bytes = { 8 } },
	{ .name = "kf_digest", .run = run_digest, .bytes = { 8, 8, 8 } },
	{ .name = "kf_sums", .run = run_sums, .bytes = { 8, 8, 8, 8 } },
	{ .name = "kf_fresh", .run = run_fresh,
	  .bytes = { 8, 8, 8, 8, 8, 8, 8, 8 } },
	{ .name = "kf_peak", .run = run_nothing, .bytes = { 8, 4 } },
};
const size_t standin_kernel_count = KF_COUNT(standin_kernel);
