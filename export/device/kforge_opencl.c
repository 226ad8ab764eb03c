/* A device of OpenCL 1.2, whose loader is opened at run time. See
 * kforge_device.h. The kernels are compiled when a context is made. */
#include "kforge_device.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY		"libOpenCL.so.1"
#define DEVICES_MAX	32
#define NAME_BYTES	96
#define VERSIONS_MAX	16
#define BLOCK_GAP	256u	/* between two handles: none runs into another */

/* From the public specification. */
enum {
	DEVICE_ENDIAN_LITTLE = 0x1026, DEVICE_AVAILABLE = 0x1027,
	DEVICE_COMPILER_AVAILABLE = 0x1028, DEVICE_NAME = 0x102b,
	DEVICE_VERSION = 0x102f, DEVICE_OPENCL_C_VERSION = 0x103d,
	DEVICE_OPENCL_C_ALL_VERSIONS = 0x1066,
	PROGRAM_BUILD_LOG = 0x1183, MEM_READ_WRITE = 1,
	BUFFER_CREATE_TYPE_REGION = 0x1220
};
#define DEVICE_TYPE_ALL UINT64_C(0xffffffff)

struct region { size_t origin, size; };
struct named { uint32_t version; char name[64]; };

#define EVENTS	uint32_t, void *const *, void **
#define INFO	size_t, void *, size_t *

/* X(what it returns, name without cl, parameters) */
#define FUNCTIONS(X) \
	X(int, GetPlatformIDs, (uint32_t, void **, uint32_t *)) \
	X(int, GetDeviceIDs, (void *, uint64_t, uint32_t, void **, \
	  uint32_t *)) \
	X(int, GetDeviceInfo, (void *, uint32_t, INFO)) \
	X(void *, CreateContext, (const intptr_t *, uint32_t, void *const *, \
	  void *, void *, int *)) \
	X(int, ReleaseContext, (void *)) \
	X(void *, CreateCommandQueue, (void *, void *, uint64_t, int *)) \
	X(int, ReleaseCommandQueue, (void *)) \
	X(void *, CreateBuffer, (void *, uint64_t, size_t, void *, int *)) \
	X(void *, CreateSubBuffer, (void *, uint64_t, uint32_t, \
	  const void *, int *)) \
	X(int, ReleaseMemObject, (void *)) \
	X(void *, CreateProgramWithSource, (void *, uint32_t, \
	  const char *const *, const size_t *, int *)) \
	X(int, BuildProgram, (void *, uint32_t, void *const *, const char *, \
	  void *, void *)) \
	X(int, GetProgramBuildInfo, (void *, void *, uint32_t, INFO)) \
	X(int, ReleaseProgram, (void *)) \
	X(void *, CreateKernel, (void *, const char *, int *)) \
	X(int, ReleaseKernel, (void *)) \
	X(int, SetKernelArg, (void *, uint32_t, size_t, const void *)) \
	X(int, EnqueueNDRangeKernel, (void *, void *, uint32_t, \
	  const size_t *, const size_t *, const size_t *, EVENTS)) \
	X(int, EnqueueFillBuffer, (void *, void *, const void *, size_t, \
	  size_t, size_t, EVENTS)) \
	X(int, EnqueueCopyBuffer, (void *, void *, void *, size_t, size_t, \
	  size_t, EVENTS)) \
	X(int, EnqueueReadBuffer, (void *, void *, uint32_t, size_t, size_t, \
	  void *, EVENTS)) \
	X(int, EnqueueWriteBuffer, (void *, void *, uint32_t, size_t, size_t, \
	  const void *, EVENTS)) \
	X(int, Finish, (void *))

#define MEMBER(result, name, parameters) result (*name) parameters;
struct api { FUNCTIONS(MEMBER) };

/* A piece of memory, at an address of our own making. */
struct block {
	uintptr_t at;
	size_t bytes;
	void *memory;
	/* Its parts from an offset to its end, as kernels were given them. */
	struct part { size_t from; void *memory; } *part;
	size_t part_count;
};

struct kernel { char *name; void *kernel; };

struct kforge_device {
	struct api cl;
	void *device, *context, *queue, *program;
	struct block *block;
	size_t block_count;
	uintptr_t next;		/* the address of the next block */
	struct kernel *kernel;
	size_t kernel_count;
	char words[KFORGE_WORDS];
};

const char *kforge_device_words(const struct kforge_device *d)
{
	return d->words;
}

static int check(struct kforge_device *d, const char *what, int result)
{
	if (result && !d->words[0])
		snprintf(d->words, sizeof(d->words), "OpenCL cannot %.100s: "
			 "error %d", what, result);
	return result;
}

/* --- the device ----------------------------------------------------------- */

static const char *open_library(struct api *cl)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL), *symbol;

	if (!library)
		return "there is no " LIBRARY ", OpenCL's loader: install it, "
		       "and the device's driver";
#define FIND(result, name, parameters) \
	symbol = dlsym(library, "cl" #name); \
	if (!symbol) \
		return LIBRARY " is older than OpenCL 1.2"; \
	memcpy(&cl->name, &symbol, sizeof(symbol));
	FUNCTIONS(FIND)
	return NULL;	/* it stays open: devices' threads run in it */
}

static int can_compile(const struct api *cl, void *device)
{
	static const uint32_t must[] = { DEVICE_AVAILABLE,
		DEVICE_COMPILER_AVAILABLE, DEVICE_ENDIAN_LITTLE };
	size_t i;

	for (i = 0; i < sizeof(must) / sizeof(must[0]); i++) {
		uint32_t value = 0;

		if (cl->GetDeviceInfo(device, must[i], sizeof(value), &value,
				      NULL) || !value)
			return 0;
	}
	return 1;
}

static size_t list_devices(const struct api *cl, void *list[DEVICES_MAX])
{
	void *platform[DEVICES_MAX], *device[DEVICES_MAX];
	uint32_t platforms = 0, i, k;
	size_t count = 0;

	if (cl->GetPlatformIDs(DEVICES_MAX, platform, &platforms))
		return 0;
	for (i = 0; i < platforms && i < DEVICES_MAX; i++) {
		uint32_t devices = 0;

		if (cl->GetDeviceIDs(platform[i], DEVICE_TYPE_ALL, DEVICES_MAX,
				     device, &devices))
			continue;
		for (k = 0; k < devices && k < DEVICES_MAX &&
			    count < DEVICES_MAX; k++)
			if (can_compile(cl, device[k]))
				list[count++] = device[k];
	}
	return count;
}

static int is_judged_on(const struct api *cl, void *device)
{
	char all[1024] = "", name[NAME_BYTES];

	if (cl->GetDeviceInfo(device, DEVICE_NAME, sizeof(all) - 1, all, NULL))
		return 0;
	snprintf(name, sizeof(name), "%.*s", NAME_BYTES - 1,
		 all + strspn(all, " "));
	return strcmp(name, kforge_judged_on) == 0;
}

static const char *choose_device(struct kforge_device *d)
{
	const char *asked = getenv(KFORGE_DEVICE_VARIABLE);
	void *list[DEVICES_MAX];
	size_t count = list_devices(&d->cl, list), i;

	if (!count)
		return "OpenCL has no device here that can compile";
	if (asked && asked[0]) {
		char *end;
		unsigned long number = strtoul(asked, &end, 10);

		if (*end || number >= count)
			return KFORGE_DEVICE_VARIABLE " counts to no device";
		d->device = list[number];
		return NULL;
	}
	d->device = list[0];
	for (i = count; i-- > 0;)
		if (is_judged_on(&d->cl, list[i]))
			d->device = list[i];
	return NULL;
}

/* --- the program ---------------------------------------------------------- */

static void tell_log(struct kforge_device *d)
{
	char log[4096] = "";
	size_t bytes = 0;

	if (d->cl.GetProgramBuildInfo(d->program, d->device, PROGRAM_BUILD_LOG,
				      0, NULL, &bytes) ||
	    bytes >= sizeof(log) ||
	    d->cl.GetProgramBuildInfo(d->program, d->device, PROGRAM_BUILD_LOG,
				      bytes, log, NULL))
		log[0] = '\0';
	snprintf(d->words, sizeof(d->words), "the device's compiler refuses "
		 "the kernels: %.180s", log);
}

static int says(const struct kforge_device *d, uint32_t what,
		const char *start)
{
	char text[256] = "";

	return !d->cl.GetDeviceInfo(d->device, what, sizeof(text) - 1, text,
				    NULL) &&
	       strncmp(text, start, strlen(start)) == 0;
}

static int compiles(const struct kforge_device *d, unsigned major)
{
	struct named version[VERSIONS_MAX];
	char start[16];
	size_t bytes = 0, i;

	/* Older ones may list what their compilers cannot do. */
	if (!says(d, DEVICE_VERSION, "OpenCL 3.") ||
	    d->cl.GetDeviceInfo(d->device, DEVICE_OPENCL_C_ALL_VERSIONS,
				sizeof(version), version, &bytes))
		bytes = 0;
	for (i = 0; i < bytes / sizeof(version[0]); i++)
		if (version[i].version >> 22 == major)
			return 1;
	snprintf(start, sizeof(start), "OpenCL C %u.", major);
	return says(d, DEVICE_OPENCL_C_VERSION, start);
}

/* As it was judged: the newest language that the device says it compiles. */
static const char *options_of(const struct kforge_device *d)
{
	return compiles(d, 3) ? "-cl-std=CL3.0" :
		compiles(d, 2) ? "-cl-std=CL2.0" : "-cl-std=CL1.2";
}

static int build_program(struct kforge_device *d)
{
	const char *text = (const char *)kforge_code;
	int result = 0;

	d->context = d->cl.CreateContext(NULL, 1, &d->device, NULL, NULL,
					 &result);
	if (d->context)
		d->queue = d->cl.CreateCommandQueue(d->context, d->device, 0,
						    &result);
	if (d->queue)
		d->program = d->cl.CreateProgramWithSource(d->context, 1,
				&text, &kforge_code_bytes, &result);
	if (!d->program)
		return check(d, "open the device", result ? result : 1);
	result = d->cl.BuildProgram(d->program, 1, &d->device, options_of(d),
				    NULL, NULL);
	if (result)
		tell_log(d);
	return result;
}

int kforge_device_open(struct kforge_device **out, char words[KFORGE_WORDS])
{
	struct kforge_device *d = calloc(1, sizeof(*d));
	const char *why = d ? open_library(&d->cl) : "out of memory";

	*out = NULL;
	if (d && !why) {
		d->next = BLOCK_GAP;
		why = choose_device(d);
	}
	if (d && !why && build_program(d))
		why = d->words;
	if (why)
		snprintf(words, KFORGE_WORDS, "%.255s", why);
	if (why && d && !d->device) {
		free(d);	/* before there was anything to give back */
		return 1;
	}
	if (why) {
		kforge_device_close(d);
		return 1;
	}
	*out = d;
	return 0;
}

void kforge_device_close(struct kforge_device *d)
{
	size_t i;

	if (!d)
		return;
	for (i = 0; i < d->kernel_count; i++) {
		d->cl.ReleaseKernel(d->kernel[i].kernel);
		free(d->kernel[i].name);
	}
	if (d->program)
		d->cl.ReleaseProgram(d->program);
	if (d->queue)
		d->cl.ReleaseCommandQueue(d->queue);
	if (d->context)
		d->cl.ReleaseContext(d->context);
	free(d->kernel);
	free(d->block);
	free(d);
}

int kforge_device_queue(struct kforge_device *d, void *queue)
{
	d->words[0] = '\0';
	if (queue)
		snprintf(d->words, sizeof(d->words), "OpenCL's memory has no "
			 "addresses that a caller could give");
	return queue != NULL;
}

/* --- memory --------------------------------------------------------------- */

void *kforge_device_allocate(struct kforge_device *d, size_t bytes)
{
	size_t whole = (bytes + BLOCK_GAP - 1) / BLOCK_GAP * BLOCK_GAP;
	struct block *more = realloc(d->block, (d->block_count + 1) *
				     sizeof(*more));
	struct block *b;
	int result = 0;

	if (!more)
		return NULL;
	d->block = more;
	b = &d->block[d->block_count];
	memset(b, 0, sizeof(*b));
	/* No byte more than was asked for: tools see who writes beyond. */
	b->memory = d->cl.CreateBuffer(d->context, MEM_READ_WRITE,
				       bytes ? bytes : 1, NULL, &result);
	if (!b->memory)
		return NULL;
	b->at = d->next;
	b->bytes = bytes;
	d->next += whole + BLOCK_GAP;
	d->block_count++;
	return (void *)b->at;
}

void kforge_device_free(struct kforge_device *d, void *at)
{
	size_t i = 0, k;
	struct block *b;

	while (i < d->block_count && d->block[i].at != (uintptr_t)at)
		i++;
	if (i == d->block_count)
		return;
	b = &d->block[i];
	for (k = 0; k < b->part_count; k++)
		d->cl.ReleaseMemObject(b->part[k].memory);
	free(b->part);
	d->cl.ReleaseMemObject(b->memory);
	*b = d->block[--d->block_count];
}

/* The block in which a handle lies, and where in it. */
static struct block *find(struct kforge_device *d, const void *handle,
			  size_t *offset)
{
	uintptr_t at = (uintptr_t)handle;
	size_t i;

	for (i = 0; i < d->block_count; i++) {
		struct block *b = &d->block[i];

		*offset = at - b->at;
		if (at >= b->at && *offset <= b->bytes)
			return b;
	}
	if (!d->words[0])
		snprintf(d->words, sizeof(d->words), "host.c used a handle "
			 "that is none");
	return NULL;
}

int kforge_device_write(struct kforge_device *d, void *to, const void *from,
			size_t bytes)
{
	size_t at;
	const struct block *b = find(d, to, &at);

	return !b || check(d, "copy to the device",
			   d->cl.EnqueueWriteBuffer(d->queue, b->memory, 1, at,
						    bytes, from, 0, NULL,
						    NULL));
}

int kforge_device_read(struct kforge_device *d, void *to, const void *from,
		       size_t bytes)
{
	size_t at;
	const struct block *b = find(d, from, &at);

	return !b || check(d, "copy from the device",
			   d->cl.EnqueueReadBuffer(d->queue, b->memory, 1, at,
						   bytes, to, 0, NULL, NULL));
}

int kforge_device_finish(struct kforge_device *d)
{
	return check(d, "end what was begun", d->cl.Finish(d->queue));
}

int kforge_device_fill(struct kforge_device *d, const void *to, uint64_t value,
		       int width, int64_t count)
{
	size_t at;
	const struct block *b = find(d, to, &at);

	if (!b || count <= 0)
		return !b;
	return check(d, "fill memory",
		     d->cl.EnqueueFillBuffer(d->queue, b->memory, &value,
					     (size_t)width, at, (size_t)width *
					     (size_t)count, 0, NULL, NULL));
}

int kforge_device_copy(struct kforge_device *d, const void *to,
		       const void *from, int64_t bytes)
{
	size_t to_at, from_at;
	const struct block *t = find(d, to, &to_at);
	const struct block *f = find(d, from, &from_at);

	return !t || !f || check(d, "copy memory",
			d->cl.EnqueueCopyBuffer(d->queue, f->memory, t->memory,
						from_at, to_at, (size_t)bytes,
						0, NULL, NULL));
}

/* --- launches ------------------------------------------------------------- */

static void *find_kernel(struct kforge_device *d, const char *name)
{
	struct kernel *more;
	int result = 0;
	size_t i;

	for (i = 0; i < d->kernel_count; i++)
		if (strcmp(d->kernel[i].name, name) == 0)
			return d->kernel[i].kernel;
	more = realloc(d->kernel, (d->kernel_count + 1) * sizeof(*more));
	if (!more)
		return NULL;
	d->kernel = more;
	more += d->kernel_count;
	more->kernel = d->cl.CreateKernel(d->program, name, &result);
	if (!more->kernel) {
		check(d, "make a kernel", result ? result : 1);
		return NULL;
	}
	more->name = strdup(name);
	if (!more->name) {
		d->cl.ReleaseKernel(more->kernel);
		return NULL;
	}
	d->kernel_count++;
	return more->kernel;
}

/* The part of its block from a handle on; a handle at its end is NULL. */
static int find_part(struct kforge_device *d, const void *handle, void **out)
{
	size_t from, i;
	struct block *b = find(d, handle, &from);
	struct region region;
	struct part *more;
	int result = 0;

	*out = NULL;
	if (!b)
		return 1;
	if (!from)
		*out = b->memory;
	if (*out || from == b->bytes)
		return 0;
	for (i = 0; i < b->part_count; i++)
		if (b->part[i].from == from)
			*out = b->part[i].memory;
	if (*out)
		return 0;
	more = realloc(b->part, (b->part_count + 1) * sizeof(*more));
	if (!more)
		return 1;
	b->part = more;
	region.origin = from;
	region.size = b->bytes - from;
	*out = d->cl.CreateSubBuffer(b->memory, MEM_READ_WRITE,
				     BUFFER_CREATE_TYPE_REGION, &region,
				     &result);
	if (!*out)
		return check(d, "take a part of a buffer", result);
	b->part[b->part_count].from = from;
	b->part[b->part_count++].memory = *out;
	return 0;
}

static int set_argument(struct kforge_device *d, void *kernel, uint32_t i,
			const struct kf_arg *arg)
{
	void *part;

	switch (arg->kind) {
	case KF_ARG_BUFFER:
		return find_part(d, arg->v.p, &part) ? 1 :
			d->cl.SetKernelArg(kernel, i, sizeof(part),
					   part ? &part : NULL);
	case KF_ARG_LOCAL:
		return d->cl.SetKernelArg(kernel, i, arg->bytes, NULL);
	case KF_ARG_BYTES:
		return d->cl.SetKernelArg(kernel, i, arg->bytes, arg->v.p);
	default:
		return d->cl.SetKernelArg(kernel, i, arg->bytes, &arg->v);
	}
}

int kforge_device_launch(struct kforge_device *d, const struct kf_launch *l)
{
	const size_t group[3] = { (size_t)l->group.x, (size_t)l->group.y,
				  (size_t)l->group.z };
	const size_t global[3] = { (size_t)l->grid.x * group[0],
				   (size_t)l->grid.y * group[1],
				   (size_t)l->grid.z * group[2] };
	void *kernel = d->words[0] ? NULL : find_kernel(d, l->kernel);
	int i;

	if (!kernel)
		return 1;
	for (i = 0; i < l->arg_count; i++)
		if (check(d, "set an argument", set_argument(d, kernel,
				(uint32_t)i, &l->arg[i])))
			return 1;
	return check(d, "launch a kernel",
		     d->cl.EnqueueNDRangeKernel(d->queue, kernel, 3, NULL,
						global, group, 0, NULL, NULL));
}
