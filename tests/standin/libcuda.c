/*
 * A stand-in for libcuda.so.1, so that the driver is tested where there is no
 * device: device memory is memory of this process, kernels are functions in C,
 * a stream is a list that is worked off when somebody waits. What a device
 * would do is kept: nothing runs before the gate it waits behind is open, a
 * fault stays until the process ends, capture runs nothing.
 *
 * It shows that calls come in the right order with the right numbers. It shows
 * nothing about a device.
 */
#include "libcuda.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "platform/cuda/api.h"

#define ENTRIES_MAX	96
#define OPS_MAX		4096
#define ARGS_MAX	16
#define ARG_BYTES	128
#define MODULE_KERNELS	32
#define MEMORY_BYTES	(UINT64_C(1) << 30)
#define BLOCKS_MAX	4096
#define INVALID_HANDLE	400
#define DEADLOCK	999	/* of ours: a wait that nothing ends */

/* Declared and defined at once: no header has them. */
#define ENTRY(name, ...) \
	int name(__VA_ARGS__); \
	int name(__VA_ARGS__)
#define ENTER() \
	do { \
		int entered = enter(__func__); \
		if (entered) \
			return entered; \
	} while (0)

/* What gives back does so after a fault too, and tells of it. */
#define RELEASE() (counter_of(__func__)->calls++)

/* --- state ---------------------------------------------------------------- */

struct counter { char name[56]; unsigned calls, after; int result; };

struct kernel {
	const char *name;
	int (*run)(void *const *arg, const struct kf_cuda_launch *launch);
	size_t bytes[ARGS_MAX];		/* of its parameters; 0 ends them */
	int threads, fixed_shared, cluster;
};

struct function {
	const struct kernel *kernel;
	int dynamic_shared, non_portable;
};

struct module {
	struct function function[MODULE_KERNELS];
	unsigned count;
};

struct event { uint64_t time_ns; };

enum op_kind { OP_WAIT, OP_EVENT, OP_COPY, OP_FILL, OP_KERNEL };

struct op {
	enum op_kind kind;
	uint64_t to, from, bytes;	/* WAIT: from is the address */
	uint64_t value, pitch;
	unsigned width;
	struct event *event;
	const struct kernel *kernel;
	struct kf_cuda_launch launch;
	unsigned char arg[ARGS_MAX][ARG_BYTES];
};

struct stream {
	struct op *op;
	size_t count;
};

struct graph { struct op *op; size_t count; };

struct block { uint64_t at, bytes; };

static struct {
	struct counter counter[ENTRIES_MAX];
	size_t counters;
	struct block block[BLOCKS_MAX];
	size_t blocks;
	uint64_t used;
	unsigned alive;
	int fault;			/* sticky */
	struct stream *capturing;
} world;

static struct counter *counter_of(const char *name)
{
	for (size_t i = 0; i < world.counters; i++)
		if (strcmp(world.counter[i].name, name) == 0)
			return &world.counter[i];
	if (world.counters == ENTRIES_MAX)
		abort();
	snprintf(world.counter[world.counters].name,
		 sizeof(world.counter[0].name), "%s", name);
	return &world.counter[world.counters++];
}

static int enter(const char *name)
{
	struct counter *c = counter_of(name);

	c->calls++;
	if (world.fault)
		return world.fault;
	if (!c->result)
		return 0;
	if (c->after) {
		c->after--;
		return 0;
	}
	return c->result;
}

unsigned standin_calls(const char *entry);
void standin_fail(const char *entry, unsigned after, int result);
void standin_reset(void);
unsigned standin_alive(void);

unsigned standin_calls(const char *entry)
{
	return counter_of(entry)->calls;
}

void standin_fail(const char *entry, unsigned after, int result)
{
	struct counter *c = counter_of(entry);

	c->after = after;
	c->result = result;
}

void standin_reset(void)
{
	world.fault = 0;
	world.capturing = NULL;
	for (size_t i = 0; i < world.counters; i++)
		world.counter[i].result = 0;
}

unsigned standin_alive(void)
{
	return world.alive;
}

static void *zeroed(size_t bytes)
{
	void *memory = calloc(1, bytes ? bytes : 1);

	if (!memory)
		abort();
	return memory;
}

static void *alive(size_t bytes)
{
	world.alive++;
	return zeroed(bytes);
}

static void dead(void *what)
{
	world.alive--;
	free(what);
}

/* --- memory --------------------------------------------------------------- */

static void *pointer(uint64_t at)
{
	return (void *)(uintptr_t)at;
}

/* Does a range lie in one block of the device's? */
static bool on_device(uint64_t at, uint64_t bytes)
{
	for (size_t i = 0; i < world.blocks; i++)
		if (at >= world.block[i].at &&
		    at - world.block[i].at <= world.block[i].bytes &&
		    bytes <= world.block[i].bytes - (at - world.block[i].at))
			return true;
	return false;
}

ENTRY(cuMemAlloc_v2, uint64_t *at, size_t bytes)
{
	void *memory = NULL;

	ENTER();
	if (!bytes)
		return KF_CUDA_INVALID_VALUE;
	if (bytes > MEMORY_BYTES - world.used || world.blocks == BLOCKS_MAX)
		return KF_CUDA_OUT_OF_MEMORY;
	if (posix_memalign(&memory, 512, bytes))
		abort();
	memset(memory, 0x5a, bytes);
	*at = (uintptr_t)memory;
	world.block[world.blocks++] = (struct block) { *at, bytes };
	world.used += bytes;
	world.alive++;
	return 0;
}

ENTRY(cuMemFree_v2, uint64_t at)
{
	RELEASE();
	for (size_t i = 0; i < world.blocks; i++)
		if (world.block[i].at == at) {
			world.used -= world.block[i].bytes;
			world.block[i] = world.block[--world.blocks];
			dead(pointer(at));
			return world.fault;
		}
	return KF_CUDA_INVALID_VALUE;
}

ENTRY(cuMemGetInfo_v2, size_t *free_bytes, size_t *total)
{
	ENTER();
	*free_bytes = MEMORY_BYTES - world.used;
	*total = MEMORY_BYTES;
	return 0;
}

ENTRY(cuMemHostAlloc, void **memory, size_t bytes, unsigned flags)
{
	ENTER();
	(void)flags;
	*memory = alive(bytes);
	return 0;
}

ENTRY(cuMemFreeHost, void *memory)
{
	RELEASE();
	dead(memory);
	return world.fault;
}

ENTRY(cuMemHostGetDevicePointer_v2, uint64_t *at, void *memory, unsigned flags)
{
	ENTER();
	(void)flags;
	*at = (uintptr_t)memory;
	return 0;
}

ENTRY(cuMemHostRegister_v2, void *memory, size_t bytes, unsigned flags)
{
	ENTER();
	(void)flags;
	if (!memory || !bytes)
		return KF_CUDA_INVALID_VALUE;
	world.alive++;
	return 0;
}

ENTRY(cuMemHostUnregister, void *memory)
{
	RELEASE();
	(void)memory;
	world.alive--;
	return world.fault;
}

/* --- kernels -------------------------------------------------------------- */

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
	const unsigned char *in = pointer(u64(arg[0]));
	uint64_t bytes = u64(arg[1]) * 16, chunk = UINT64_C(256) << 10;
	uint64_t *out = pointer(u64(arg[2]));

	for (unsigned k = 0; k < launch->grid[0]; k++) {
		uint64_t h = UINT64_C(0xcbf29ce484222325);

		for (uint64_t i = k * chunk; i < bytes && i < (k + 1) * chunk;
		     i++)
			h = (h ^ in[i]) * UINT64_C(0x100000001b3);
		out[k] += h;
	}
	return 0;
}

static const struct kernel kernels[] = {
	{ .name = "axpb", .run = run_axpb, .bytes = { 8, 8, 4, 4, 8 } },
	{ .name = "axpby", .run = run_axpby, .bytes = { 8, 8, 8, 4, 4, 8 } },
	{ .name = "multiply", .run = run_multiply, .bytes = { 8, 8, 8, 8 } },
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
	{ .name = "endless", .run = run_nothing, .bytes = { 8 } },
	{ .name = "kf_digest", .run = run_digest, .bytes = { 8, 8, 8 } },
	{ .name = "kf_peak", .run = run_nothing, .bytes = { 8, 4 } },
};

/* --- modules -------------------------------------------------------------- */

static void add_function(struct module *m, const char *name, size_t len)
{
	for (size_t i = 0; i < KF_COUNT(kernels); i++)
		if (strlen(kernels[i].name) == len &&
		    strncmp(kernels[i].name, name, len) == 0 &&
		    m->count < MODULE_KERNELS)
			m->function[m->count++].kernel = &kernels[i];
}

/* Of real code: a section ".text.NAME" for each kernel. */
static void add_sections(struct module *m, const char *image)
{
	static const char prefix[] = ".text.";
	const Elf64_Ehdr *file = (const void *)image;
	const Elf64_Shdr *section = (const void *)(image + file->e_shoff);
	const char *names = image + section[file->e_shstrndx].sh_offset;

	for (unsigned i = 0; i < file->e_shnum; i++) {
		const char *name = names + section[i].sh_name;

		if (strncmp(name, prefix, sizeof(prefix) - 1) == 0)
			add_function(m, name + sizeof(prefix) - 1,
				     strlen(name) - sizeof(prefix) + 1);
	}
}

/* Lines "kernel NAME"; of PTX the entry's line. */
static void add_lines(struct module *m, const char *image)
{
	for (const char *line = image; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, "kernel ", 7) == 0)
			add_function(m, line + 7, strcspn(line + 7, "\n"));
		if (strncmp(line, ".visible .entry ", 16) == 0)
			add_function(m, line + 16, strcspn(line + 16, "("));
	}
}

ENTRY(cuModuleLoadData, void **module, const char *image)
{
	bool real = memcmp(image, ELFMAG, SELFMAG) == 0 &&
		    image[EI_CLASS] == ELFCLASS64;
	struct module *m;

	ENTER();
	if (!real && strncmp(image, ".version", 8) != 0 &&
	    strncmp(image, STANDIN_MAGIC, strlen(STANDIN_MAGIC)) != 0)
		return KF_CUDA_NO_BINARY_FOR_GPU;
	m = alive(sizeof(*m));
	if (real)
		add_sections(m, image);
	else
		add_lines(m, image);
	*module = m;
	return 0;
}

ENTRY(cuModuleUnload, void *module)
{
	RELEASE();
	dead(module);
	return world.fault;
}

ENTRY(cuModuleGetFunction, void **function, void *module, const char *name)
{
	struct module *m = module;

	ENTER();
	for (unsigned i = 0; i < m->count; i++)
		if (strcmp(m->function[i].kernel->name, name) == 0) {
			*function = &m->function[i];
			return 0;
		}
	return KF_CUDA_NOT_FOUND;
}

ENTRY(cuModuleGetFunctionCount, unsigned *count, void *module)
{
	ENTER();
	*count = ((struct module *)module)->count;
	return 0;
}

ENTRY(cuModuleEnumerateFunctions, void **function, unsigned count, void *module)
{
	struct module *m = module;

	ENTER();
	for (unsigned i = 0; i < count && i < m->count; i++)
		function[i] = &m->function[i];
	return 0;
}

ENTRY(cuFuncGetName, const char **name, void *function)
{
	ENTER();
	*name = ((struct function *)function)->kernel->name;
	return 0;
}

ENTRY(cuFuncGetAttribute, int *value, int attribute, void *function)
{
	const struct function *f = function;

	ENTER();
	switch (attribute) {
	case KF_CUDA_FUNC_MAX_THREADS_PER_BLOCK:
		*value = f->kernel->threads ? f->kernel->threads : 1024;
		break;
	case KF_CUDA_FUNC_SHARED_SIZE_BYTES:
		*value = f->kernel->fixed_shared;
		break;
	case KF_CUDA_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		*value = f->dynamic_shared ? f->dynamic_shared : 48 << 10;
		break;
	case KF_CUDA_FUNC_CLUSTER_SIZE_MUST_BE_SET:
		*value = f->kernel->cluster != 0;
		break;
	default:
		*value = 32;
	}
	return 0;
}

ENTRY(cuFuncSetAttribute, void *function, int attribute, int value)
{
	struct function *f = function;

	ENTER();
	if (attribute == KF_CUDA_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES)
		f->dynamic_shared = value;
	else if (attribute == KF_CUDA_FUNC_NON_PORTABLE_CLUSTER_SIZE_ALLOWED)
		f->non_portable = value;
	else
		return KF_CUDA_INVALID_VALUE;
	return 0;
}

ENTRY(cuFuncGetParamInfo, void *function, size_t index, size_t *offset,
      size_t *bytes)
{
	const struct function *f = function;

	ENTER();
	if (index >= ARGS_MAX || !f->kernel->bytes[index])
		return KF_CUDA_INVALID_VALUE;
	*offset = 0;
	*bytes = f->kernel->bytes[index];
	return 0;
}

ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessor, int *blocks, void *function,
      int threads, size_t shared_bytes)
{
	ENTER();
	(void)function;
	(void)shared_bytes;
	*blocks = 2048 / threads;
	return 0;
}

ENTRY(cuOccupancyMaxActiveClusters, int *clusters, void *function,
      const struct kf_cuda_launch *launch)
{
	const struct function *f = function;
	unsigned size = launch->attribute[0].value.dim.x;

	ENTER();
	*clusters = size <= 8 || (f->non_portable && size <= 16) ? 4 : 0;
	return 0;
}

/* Keeps what run_load_box needs: where, and the bytes of a row. */
ENTRY(cuTensorMapEncodeTiled, unsigned char *map, int dtype, uint32_t rank,
      void *data, const uint64_t *dim, const uint64_t *stride,
      const uint32_t *box, const uint32_t *element_stride, int interleave,
      int swizzle, int l2_promotion, int oob_fill)
{
	uint64_t at = (uintptr_t)data;

	ENTER();
	(void)dim;
	(void)interleave;
	(void)swizzle;
	(void)l2_promotion;
	(void)oob_fill;
	if ((uintptr_t)map % 64 || at % 16 || dtype != 7 || rank != 2 ||
	    stride[0] % 16 || box[0] > 256 || element_stride[0] != 1)
		return KF_CUDA_INVALID_VALUE;
	memset(map, 0, 128);
	memcpy(map, &at, 8);
	memcpy(map + 8, &stride[0], 8);
	return 0;
}

/* --- streams -------------------------------------------------------------- */

ENTRY(cuStreamCreate, void **stream, unsigned flags)
{
	struct stream *s;

	ENTER();
	(void)flags;
	s = alive(sizeof(*s));
	s->op = zeroed(OPS_MAX * sizeof(s->op[0]));
	*stream = s;
	return 0;
}

ENTRY(cuStreamDestroy_v2, void *stream)
{
	RELEASE();
	free(((struct stream *)stream)->op);
	dead(stream);
	return world.fault;
}

static int push(struct stream *s, const struct op *op)
{
	if (s->count == OPS_MAX)
		return KF_CUDA_OUT_OF_MEMORY;
	s->op[s->count++] = *op;
	return 0;
}

static void fill(const struct op *op)
{
	unsigned char *to = pointer(op->to);

	for (uint64_t i = 0; i < op->bytes; i += op->width, to += op->pitch)
		memcpy(to, &op->value, op->width);
}

static int run_kernel(const struct op *op)
{
	void *arg[ARGS_MAX];

	for (size_t i = 0; i < ARGS_MAX; i++)
		arg[i] = (void *)(uintptr_t)op->arg[i];
	return op->kernel->run(arg, &op->launch);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * KF_NS_PER_S + (uint64_t)now.tv_nsec;
}

static int run_op(const struct op *op)
{
	switch (op->kind) {
	case OP_WAIT:
		return *(volatile uint32_t *)pointer(op->from) ==
		       (uint32_t)op->value ? 0 : DEADLOCK;
	case OP_EVENT:
		op->event->time_ns = now_ns();
		return 0;
	case OP_COPY:
		memmove(pointer(op->to), pointer(op->from), op->bytes);
		return 0;
	case OP_FILL:
		fill(op);
		return 0;
	default:
		return run_kernel(op);
	}
}

static int work_off(struct stream *s)
{
	for (size_t i = 0; i < s->count && !world.fault; i++)
		world.fault = run_op(&s->op[i]);
	s->count = 0;
	return world.fault;
}

ENTRY(cuStreamSynchronize, void *stream)
{
	ENTER();
	return work_off(stream);
}

ENTRY(cuStreamWaitValue32_v2, void *stream, uint64_t at, uint32_t value,
      unsigned flags)
{
	struct op op = { .kind = OP_WAIT, .from = at, .value = value };

	ENTER();
	(void)flags;
	return push(stream, &op);
}

static int push_copy(void *stream, uint64_t to, uint64_t from, size_t bytes)
{
	struct op op = { .kind = OP_COPY, .to = to, .from = from,
			 .bytes = bytes };

	return push(stream, &op);
}

ENTRY(cuMemcpyHtoDAsync_v2, uint64_t to, const void *from, size_t bytes,
      void *stream)
{
	ENTER();
	if (!on_device(to, bytes))
		return KF_CUDA_INVALID_VALUE;
	return push_copy(stream, to, (uintptr_t)from, bytes);
}

ENTRY(cuMemcpyDtoHAsync_v2, void *to, uint64_t from, size_t bytes, void *stream)
{
	ENTER();
	if (!on_device(from, bytes))
		return KF_CUDA_INVALID_VALUE;
	return push_copy(stream, (uintptr_t)to, from, bytes);
}

ENTRY(cuMemcpyDtoDAsync_v2, uint64_t to, uint64_t from, size_t bytes,
      void *stream)
{
	ENTER();
	if (!on_device(to, bytes) || !on_device(from, bytes))
		return KF_CUDA_INVALID_VALUE;
	return push_copy(stream, to, from, bytes);
}

static int push_fill(void *stream, uint64_t at, uint64_t value, unsigned width,
		     size_t count, size_t pitch)
{
	struct op op = { .kind = OP_FILL, .to = at, .bytes = count * width,
			 .value = value, .width = width, .pitch = pitch };

	if (at % width || !count ||
	    !on_device(at, (count - 1) * pitch + width))
		return KF_CUDA_INVALID_VALUE;
	return push(stream, &op);
}

ENTRY(cuMemsetD8Async, uint64_t at, unsigned char value, size_t count,
      void *stream)
{
	ENTER();
	return push_fill(stream, at, value, 1, count, 1);
}

ENTRY(cuMemsetD16Async, uint64_t at, unsigned short value, size_t count,
      void *stream)
{
	ENTER();
	return push_fill(stream, at, value, 2, count, 2);
}

ENTRY(cuMemsetD32Async, uint64_t at, unsigned value, size_t count, void *stream)
{
	ENTER();
	return push_fill(stream, at, value, 4, count, 4);
}

ENTRY(cuMemsetD2D32Async, uint64_t at, size_t pitch, unsigned value,
      size_t width, size_t height, void *stream)
{
	ENTER();
	if (width != 1)
		return KF_CUDA_INVALID_VALUE;
	return push_fill(stream, at, value, 4, height, pitch);
}

ENTRY(cuLaunchKernelEx, const struct kf_cuda_launch *launch, void *function,
      void **parameter, void **extra)
{
	const struct function *f = function;
	struct op op = { .kind = OP_KERNEL, .kernel = f->kernel,
			 .launch = *launch };

	ENTER();
	(void)extra;
	for (size_t i = 0; i < ARGS_MAX && f->kernel->bytes[i]; i++)
		memcpy(op.arg[i], parameter[i], f->kernel->bytes[i]);
	if (!launch->grid[0] || !launch->block[0] ||
	    launch->shared_bytes > (unsigned)(f->dynamic_shared ?
					      f->dynamic_shared : 48 << 10))
		return KF_CUDA_INVALID_VALUE;
	/* The list of attributes is the caller's, and short-lived. */
	if (launch->attribute_count)
		op.launch.attribute = memcpy(op.arg[ARGS_MAX - 1],
					     launch->attribute,
					     sizeof(*launch->attribute));
	return push(launch->stream, &op);
}

/* --- events and graphs ---------------------------------------------------- */

ENTRY(cuEventCreate, void **event, unsigned flags)
{
	ENTER();
	(void)flags;
	*event = alive(sizeof(struct event));
	return 0;
}

ENTRY(cuEventDestroy_v2, void *event)
{
	RELEASE();
	dead(event);
	return world.fault;
}

static struct stream *recorded_in;	/* events wait for their stream */

ENTRY(cuEventRecord, void *event, void *stream)
{
	struct op op = { .kind = OP_EVENT, .event = event };

	ENTER();
	recorded_in = stream;
	return push(stream, &op);
}

ENTRY(cuEventSynchronize, void *event)
{
	ENTER();
	(void)event;
	return recorded_in ? work_off(recorded_in) : INVALID_HANDLE;
}

ENTRY(cuEventElapsedTime, float *ms, void *from, void *to)
{
	const struct event *a = from, *b = to;

	ENTER();
	*ms = (float)((double)(b->time_ns - a->time_ns) * 1e-6);
	return 0;
}

ENTRY(cuStreamBeginCapture_v2, void *stream, int mode)
{
	struct stream *s = stream;

	ENTER();
	(void)mode;
	if (world.capturing)
		return KF_CUDA_INVALID_VALUE;
	world.fault = work_off(s);
	world.capturing = s;
	return world.fault;
}

ENTRY(cuStreamEndCapture, void *stream, void **graph)
{
	struct stream *s = stream;
	struct graph *g;

	ENTER();
	if (world.capturing != s)
		return KF_CUDA_INVALID_VALUE;
	g = alive(sizeof(*g));
	g->op = zeroed((s->count + 1) * sizeof(g->op[0]));
	g->count = s->count;
	memcpy(g->op, s->op, s->count * sizeof(g->op[0]));
	s->count = 0;
	world.capturing = NULL;
	*graph = g;
	return 0;
}

static void *copy_of(const struct graph *from)
{
	struct graph *g = alive(sizeof(*g));

	g->op = zeroed((from->count + 1) * sizeof(g->op[0]));
	g->count = from->count;
	memcpy(g->op, from->op, from->count * sizeof(g->op[0]));
	return g;
}

ENTRY(cuGraphInstantiateWithFlags, void **exec, void *graph,
      unsigned long long flags)
{
	ENTER();
	(void)flags;
	*exec = copy_of(graph);
	return 0;
}

ENTRY(cuGraphUpload, void *exec, void *stream)
{
	ENTER();
	(void)exec;
	(void)stream;
	return 0;
}

ENTRY(cuGraphLaunch, void *exec, void *stream)
{
	const struct graph *g = exec;
	int result = 0;

	ENTER();
	for (size_t i = 0; i < g->count && !result; i++)
		result = push(stream, &g->op[i]);
	return result;
}

static int graph_free(struct graph *g)
{
	free(g->op);
	dead(g);
	return world.fault;
}

ENTRY(cuGraphExecDestroy, void *exec)
{
	RELEASE();
	return graph_free(exec);
}

ENTRY(cuGraphDestroy, void *graph)
{
	RELEASE();
	return graph_free(graph);
}

/* --- devices -------------------------------------------------------------- */

ENTRY(cuInit, unsigned flags)
{
	ENTER();
	(void)flags;
	return 0;
}

ENTRY(cuDriverGetVersion, int *version)
{
	*version = 13000;
	return 0;
}

ENTRY(cuGetErrorName, int result, const char **name)
{
	*name = result == KF_CUDA_INVALID_VALUE ? "CUDA_ERROR_INVALID_VALUE"
						: "CUDA_ERROR_OTHER";
	return 0;
}

ENTRY(cuDeviceGetCount, int *count)
{
	ENTER();
	*count = 2;
	return 0;
}

ENTRY(cuDeviceGet, int *device, int ordinal)
{
	ENTER();
	*device = ordinal;
	return 0;
}

ENTRY(cuDeviceGetName, char *name, int len, int device)
{
	ENTER();
	snprintf(name, (size_t)len, "Stand-in %d", device);
	return 0;
}

ENTRY(cuDeviceGetUuid, unsigned char uuid[16], int device)
{
	ENTER();
	memset(uuid, 0xa0 + device, 16);
	return 0;
}

ENTRY(cuDeviceTotalMem_v2, size_t *bytes, int device)
{
	ENTER();
	(void)device;
	*bytes = MEMORY_BYTES;
	return 0;
}

ENTRY(cuDeviceGetAttribute, int *value, int attribute, int device)
{
	static const struct { int attribute, value; } rows[] = {
		{ KF_CUDA_MAX_THREADS_PER_BLOCK, 1024 },
		{ KF_CUDA_MAX_BLOCK_DIM_X, 1024 },
		{ KF_CUDA_MAX_BLOCK_DIM_X + 1, 1024 },
		{ KF_CUDA_MAX_BLOCK_DIM_X + 2, 64 },
		{ KF_CUDA_MAX_GRID_DIM_X, 2147483647 },
		{ KF_CUDA_MAX_GRID_DIM_X + 1, 65535 },
		{ KF_CUDA_MAX_GRID_DIM_X + 2, 65535 },
		{ KF_CUDA_CLOCK_RATE, 1980000 },
		{ KF_CUDA_MULTIPROCESSOR_COUNT, 4 },
		{ KF_CUDA_MEMORY_CLOCK_RATE, 2619000 },
		{ KF_CUDA_GLOBAL_MEMORY_BUS_WIDTH, 5120 },
		{ KF_CUDA_L2_CACHE_SIZE, 1 << 20 },
		{ KF_CUDA_MAX_THREADS_PER_MULTIPROCESSOR, 2048 },
		{ KF_CUDA_COMPUTE_CAPABILITY_MAJOR, 9 },
		{ KF_CUDA_COMPUTE_CAPABILITY_MINOR, 0 },
		{ KF_CUDA_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472 },
		{ KF_CUDA_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536 },
		{ KF_CUDA_COOPERATIVE_LAUNCH, 1 },
		{ KF_CUDA_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448 },
		{ KF_CUDA_READ_ONLY_HOST_REGISTER_SUPPORTED, 1 },
		{ KF_CUDA_CLUSTER_LAUNCH, 1 },
		{ KF_CUDA_TENSOR_MAP_ACCESS_SUPPORTED, 1 },
	};

	ENTER();
	(void)device;
	for (size_t i = 0; i < KF_COUNT(rows); i++)
		if (rows[i].attribute == attribute) {
			*value = rows[i].value;
			return 0;
		}
	return KF_CUDA_INVALID_VALUE;
}

ENTRY(cuDevicePrimaryCtxRetain, void **context, int device)
{
	static char the_context;

	ENTER();
	(void)device;
	world.alive++;
	*context = &the_context;
	return 0;
}

ENTRY(cuDevicePrimaryCtxRelease_v2, int device)
{
	RELEASE();
	(void)device;
	world.alive--;
	return world.fault;
}

ENTRY(cuCtxSetCurrent, void *context)
{
	ENTER();
	(void)context;
	return 0;
}

ENTRY(cuCtxResetPersistingL2Cache, void)
{
	ENTER();
	return 0;
}
