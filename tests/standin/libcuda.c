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
#include "standin.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ENTRIES_MAX	96
#define OPS_MAX		4096
#define ARG_BYTES	128
#define MODULE_KERNELS	32
#define NAME_BYTES	64
#define BLOCKS_MAX	4096
#define INVALID_HANDLE	400
#define LINK_BYTES	16384
#define DEADLOCK	999	/* of ours: a wait that nothing ends */

#define RELEASE()	((void)standin_release(__func__))

/* --- state ---------------------------------------------------------------- */

struct counter { char name[56]; _Atomic unsigned calls, after; int result; };

struct function {
	const struct kernel *kernel;
	int dynamic_shared, non_portable;
};

struct module {
	struct function function[MODULE_KERNELS];
	struct kernel other[MODULE_KERNELS];	/* those of no table */
	char name[MODULE_KERNELS][NAME_BYTES];
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
	bool adopted;
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

int standin_release(const char *name)
{
	counter_of(name)->calls++;
	return world.fault;
}

int standin_enter(const char *name)
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

void standin_count_alive(int more)
{
	world.alive += (unsigned)more;
}

static void dead(void *what)
{
	world.alive--;
	free(what);
}

/* --- memory --------------------------------------------------------------- */

void standin_adopt(void)
{
	world.adopted = true;
}

bool on_device(uint64_t at, uint64_t bytes)
{
	if (world.adopted)
		return true;
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
	if (bytes > STANDIN_MEMORY_BYTES - world.used ||
	    world.blocks == BLOCKS_MAX)
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
	*free_bytes = STANDIN_MEMORY_BYTES - world.used;
	*total = STANDIN_MEMORY_BYTES;
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

/* --- modules -------------------------------------------------------------- */

static bool add_function(struct module *m, const char *name, size_t len)
{
	for (size_t i = 0; i < standin_kernel_count; i++)
		if (strlen(standin_kernel[i].name) == len &&
		    strncmp(standin_kernel[i].name, name, len) == 0 &&
		    m->count < MODULE_KERNELS) {
			m->function[m->count++].kernel = &standin_kernel[i];
			return true;
		}
	return false;
}

static void add_other(struct module *m, const char *image, const char *name)
{
	struct kernel *other = &m->other[m->count];
	char *kept = m->name[m->count];

	if (m->count == MODULE_KERNELS || strlen(name) >= NAME_BYTES)
		return;
	snprintf(kept, NAME_BYTES, "%s", name);
	standin_cubin_kernel(image, kept, other);
	m->function[m->count++].kernel = other;
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

		if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
			continue;
		name += sizeof(prefix) - 1;
		if (!add_function(m, name, strlen(name)))
			add_other(m, image, name);
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

/* --- links: the text once more -------------------------------------------- */

ENTRY(cuLinkCreate_v2, unsigned options, int *option, void **value,
      void **link)
{
	(void)options;
	(void)option;
	(void)value;
	ENTER();
	*link = alive(LINK_BYTES);
	return 0;
}

ENTRY(cuLinkAddData_v2, void *link, int type, void *data, size_t bytes,
      const char *name, unsigned options, int *option, void **value)
{
	const char *text = data;

	(void)name;
	(void)options;
	(void)option;
	(void)value;
	ENTER();
	if (type != KF_CUDA_INPUT_PTX || bytes > LINK_BYTES ||
	    !bytes || text[bytes - 1])
		return KF_CUDA_INVALID_VALUE;
	memcpy(link, data, bytes);
	return 0;
}

ENTRY(cuLinkComplete, void *link, void **image, size_t *bytes)
{
	ENTER();
	*image = link;
	*bytes = strlen(link) + 1;
	return 0;
}

ENTRY(cuLinkDestroy, void *link)
{
	RELEASE();
	dead(link);
	return world.fault;
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
	uint64_t done = op->width;

	memcpy(to, &op->value, op->width);
	if (op->pitch == op->width)	/* what is there once more, doubled */
		for (; done < op->bytes; done *= 2)
			memcpy(to + done, to, done < op->bytes - done ? done :
			       op->bytes - done);
	for (; done < op->bytes; done += op->width)
		memcpy(to + done / op->width * op->pitch, &op->value,
		       op->width);
}

/* The stand-in for CUPTI, if this process has opened it, hears of it all. */
static void tell_cupti(const struct op *op)
{
	void *cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
	void *symbol = cupti ? dlsym(cupti, "standin_cupti_record") : NULL;
	void (*record)(int kind, const char *name, uint64_t bytes) = NULL;

	memcpy(&record, &symbol, sizeof(symbol));
	if (record)
		record(op->kind == OP_COPY ? 1 : op->kind == OP_FILL ? 2 : 10,
		       op->kind == OP_KERNEL ? op->kernel->name : NULL,
		       op->bytes);
	if (cupti)
		dlclose(cupti);
}

static int run_kernel(const struct op *op)
{
	void *arg[ARGS_MAX];

	for (size_t i = 0; i < ARGS_MAX; i++)
		arg[i] = (void *)(uintptr_t)op->arg[i];
	return op->kernel->run(arg, &op->launch);
}

uint64_t standin_now_ns(void)
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
		op->event->time_ns = standin_now_ns() - standin_lag_ns;
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
	for (size_t i = 0; i < s->count && !world.fault; i++) {
		world.fault = run_op(&s->op[i]);
		if (s->op[i].kind >= OP_COPY)
			tell_cupti(&s->op[i]);
	}
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
		if (f->kernel->bytes[i] <= ARG_BYTES)
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
