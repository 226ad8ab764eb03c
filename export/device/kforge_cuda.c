/* A CUDA device, by the driver's library, opened at run time. See
 * kforge_device.h. KFORGE_CUDA_DRIVER names another libcuda.so.1. */
#include "kforge_device.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY		"libcuda.so.1"
#define VARIABLE	"KFORGE_CUDA_DRIVER"
#define ARGS_MAX	256
#define MAPS_MAX	16
#define MAP_BYTES	128
#define DEVICES_MAX	64
#define NO_BINARY	209

/* From the driver's documentation. */
enum {
	FUNC_MAX_DYNAMIC_SHARED = 8, FUNC_NON_PORTABLE_CLUSTER = 14,
	LAUNCH_COOPERATIVE = 2, LAUNCH_CLUSTER = 4, LAUNCH_DEPENDENT = 6
};

struct attribute {
	int id;
	char pad[4];
	union { char pad[64]; int flag; struct { unsigned x, y, z; } dim; } value;
};

struct config {
	unsigned grid[3], block[3], shared_bytes;
	void *stream;
	struct attribute *attribute;
	unsigned attribute_count;
};

/* X(name here, name in the library, parameters) */
#define FUNCTIONS(X) \
	X(init, "cuInit", (unsigned)) \
	X(error_name, "cuGetErrorName", (int, const char **)) \
	X(device_count, "cuDeviceGetCount", (int *)) \
	X(device_get, "cuDeviceGet", (int *, int)) \
	X(device_name, "cuDeviceGetName", (char *, int, int)) \
	X(context_retain, "cuDevicePrimaryCtxRetain", (void **, int)) \
	X(context_release, "cuDevicePrimaryCtxRelease_v2", (int)) \
	X(context_push, "cuCtxPushCurrent_v2", (void *)) \
	X(context_pop, "cuCtxPopCurrent_v2", (void **)) \
	X(allocate, "cuMemAlloc_v2", (uint64_t *, size_t)) \
	X(release, "cuMemFree_v2", (uint64_t)) \
	X(write, "cuMemcpyHtoDAsync_v2", (uint64_t, const void *, size_t, \
	  void *)) \
	X(read, "cuMemcpyDtoHAsync_v2", (void *, uint64_t, size_t, void *)) \
	X(copy, "cuMemcpyDtoDAsync_v2", (uint64_t, uint64_t, size_t, void *)) \
	X(fill8, "cuMemsetD8Async", (uint64_t, unsigned char, size_t, \
	  void *)) \
	X(fill16, "cuMemsetD16Async", (uint64_t, unsigned short, size_t, \
	  void *)) \
	X(fill32, "cuMemsetD32Async", (uint64_t, unsigned, size_t, void *)) \
	X(rows32, "cuMemsetD2D32Async", (uint64_t, size_t, unsigned, size_t, \
	  size_t, void *)) \
	X(stream_create, "cuStreamCreate", (void **, unsigned)) \
	X(stream_destroy, "cuStreamDestroy_v2", (void *)) \
	X(stream_synchronize, "cuStreamSynchronize", (void *)) \
	X(module_load, "cuModuleLoadData", (void **, const void *)) \
	X(module_unload, "cuModuleUnload", (void *)) \
	X(module_function, "cuModuleGetFunction", (void **, void *, \
	  const char *)) \
	X(function_set, "cuFuncSetAttribute", (void *, int, int)) \
	X(launch, "cuLaunchKernelEx", (const struct config *, void *, \
	  void **, void **)) \
	X(tensor_map, "cuTensorMapEncodeTiled", (void *, int, uint32_t, \
	  void *, const uint64_t *, const uint64_t *, const uint32_t *, \
	  const uint32_t *, int, int, int, int))

#define MEMBER(name, symbol, parameters) int (*name) parameters;
struct api { FUNCTIONS(MEMBER) };

struct kforge_device {
	struct api cu;
	int device;
	void *context, *own, *stream, *module;
	char words[KFORGE_WORDS];
};

const char *kforge_device_words(const struct kforge_device *d)
{
	return d->words;
}

static int check(struct kforge_device *d, const char *what, int result)
{
	const char *name = NULL;

	if (!result || d->words[0])
		return result;
	if (d->cu.error_name(result, &name) || !name)
		name = "error";
	snprintf(d->words, sizeof(d->words), "CUDA cannot %.100s: %.60s (%d)",
		 what, name, result);
	return result;
}

/* The caller's context is current again afterwards. */
static int enter(struct kforge_device *d)
{
	return check(d, "use the device", d->cu.context_push(d->context));
}

static int leave(struct kforge_device *d, int result)
{
	void *context;
	int popped = check(d, "leave the device", d->cu.context_pop(&context));

	return result ? result : popped;
}

static uint64_t address(const void *at)
{
	return (uint64_t)(uintptr_t)at;
}

/* --- opening -------------------------------------------------------------- */

static const char *open_library(struct api *cu)
{
	const char *asked = getenv(VARIABLE);
	void *library = dlopen(asked && asked[0] ? asked : LIBRARY,
			       RTLD_NOW | RTLD_LOCAL), *symbol;

	if (!library)
		return "there is no " LIBRARY ": install NVIDIA's driver";
#define FIND(name, text, parameters) \
	symbol = dlsym(library, text); \
	if (!symbol) \
		return LIBRARY " has no " text ": install a driver for CUDA " \
		       "12.0 or newer"; \
	memcpy(&cu->name, &symbol, sizeof(symbol));
	FUNCTIONS(FIND)
	return NULL;	/* it stays open, as every driver does */
}

static int is_judged_on(const struct api *cu, int number)
{
	char name[96] = "";
	int device;

	return cu->device_get(&device, number) == 0 &&
	       cu->device_name(name, (int)sizeof(name), device) == 0 &&
	       strcmp(name, kforge_judged_on) == 0;
}

static const char *choose_device(struct kforge_device *d)
{
	const char *asked = getenv(KFORGE_DEVICE_VARIABLE);
	int count = 0, number = 0, i;
	char *end;

	if (d->cu.init(0) || d->cu.device_count(&count) || count < 1)
		return "CUDA's driver sees no device";
	for (i = count < DEVICES_MAX ? count : DEVICES_MAX; i-- > 0;)
		if (is_judged_on(&d->cu, i))
			number = i;
	if (asked && asked[0]) {
		number = (int)strtol(asked, &end, 10);
		if (*end || number < 0 || number >= count)
			return KFORGE_DEVICE_VARIABLE " counts to no device";
	}
	if (d->cu.device_get(&d->device, number) ||
	    d->cu.context_retain(&d->context, d->device))
		return "CUDA cannot open the device";
	return NULL;
}

static int load(struct kforge_device *d)
{
	int result = enter(d);

	if (result)
		return result;
	result = check(d, "make a stream", d->cu.stream_create(&d->own, 1));
	d->stream = d->own;
	if (!result)
		result = d->cu.module_load(&d->module, kforge_code);
	if (result == NO_BINARY)
		snprintf(d->words, sizeof(d->words), "the kernels were built "
			 "for %.60s, and this is another kind of device: "
			 "export the program on it", kforge_judged_on);
	return leave(d, check(d, "load the kernels", result));
}

int kforge_device_open(struct kforge_device **out, char words[KFORGE_WORDS])
{
	struct kforge_device *d = calloc(1, sizeof(*d));
	const char *why = d ? open_library(&d->cu) : "out of memory";

	*out = NULL;
	if (d && !why)
		why = choose_device(d);
	if (d && !why && load(d))
		why = d->words;
	if (!why) {
		*out = d;
		return 0;
	}
	snprintf(words, KFORGE_WORDS, "%.255s", why);
	kforge_device_close(d);
	return 1;
}

void kforge_device_close(struct kforge_device *d)
{
	if (!d)
		return;
	if (d->context && !enter(d)) {
		if (d->module)
			d->cu.module_unload(d->module);
		if (d->own)
			d->cu.stream_destroy(d->own);
		leave(d, 0);
	}
	if (d->context)
		d->cu.context_release(d->device);
	free(d);
}

int kforge_device_queue(struct kforge_device *d, void *queue)
{
	d->words[0] = '\0';
	d->stream = queue ? queue : d->own;
	return 0;
}

/* --- memory --------------------------------------------------------------- */

void *kforge_device_allocate(struct kforge_device *d, size_t bytes)
{
	uint64_t at = 0;

	if (enter(d))
		return NULL;
	if (d->cu.allocate(&at, bytes ? bytes : 1))
		at = 0;
	leave(d, 0);
	return (void *)(uintptr_t)at;
}

void kforge_device_free(struct kforge_device *d, void *at)
{
	if (enter(d))
		return;
	d->cu.release(address(at));
	leave(d, 0);
}

int kforge_device_finish(struct kforge_device *d)
{
	if (enter(d))
		return 1;
	return leave(d, check(d, "run the program",
			      d->cu.stream_synchronize(d->stream)));
}

int kforge_device_write(struct kforge_device *d, void *to, const void *from,
			size_t bytes)
{
	if (enter(d))
		return 1;
	return leave(d, check(d, "copy to the device",
			      d->cu.write(address(to), from, bytes,
					  d->stream)));
}

int kforge_device_read(struct kforge_device *d, void *to, const void *from,
		       size_t bytes)
{
	int result;

	if (enter(d))
		return 1;
	result = check(d, "copy from the device",
		       d->cu.read(to, address(from), bytes, d->stream));
	if (!result)
		result = check(d, "run the program",
			       d->cu.stream_synchronize(d->stream));
	return leave(d, result);
}

/* Elements of 8 bytes are columns of 4 where their halves differ. */
static int fill(struct kforge_device *d, uint64_t at, uint64_t value,
		int width, size_t count)
{
	unsigned low = (unsigned)value, high = (unsigned)(value >> 32);
	int result;

	if (width == 1)
		return d->cu.fill8(at, (unsigned char)low, count, d->stream);
	if (width == 2)
		return d->cu.fill16(at, (unsigned short)low, count, d->stream);
	if (width == 4)
		return d->cu.fill32(at, low, count, d->stream);
	result = d->cu.rows32(at, 8, low, 1, count, d->stream);
	return result ? result : d->cu.rows32(at + 4, 8, high, 1, count,
					      d->stream);
}

int kforge_device_fill(struct kforge_device *d, const void *to, uint64_t value,
		       int width, int64_t count)
{
	if (count <= 0)
		return 0;
	if (enter(d))
		return 1;
	return leave(d, check(d, "fill memory", fill(d, address(to), value,
						     width, (size_t)count)));
}

int kforge_device_copy(struct kforge_device *d, const void *to,
		       const void *from, int64_t bytes)
{
	if (enter(d))
		return 1;
	return leave(d, check(d, "copy memory",
			      d->cu.copy(address(to), address(from),
					 (size_t)bytes, d->stream)));
}

/* --- launches ------------------------------------------------------------- */

struct map { _Alignas(64) unsigned char bytes[MAP_BYTES]; };

static int encode(struct kforge_device *d, const struct kf_tensor_map *m,
		  struct map *map)
{
	/* By enum kf_dtype; signed types are moved as unsigned ones. */
	static const int types[] = { 0, 0, 0, 0, 1, 3, 5, 6, 9, 7, 8 };
	uint64_t dim[5], stride[5];
	uint32_t box[5], element[5];
	int i;

	if (m->dtype < 1 || m->dtype > 10 || m->rank < 1 || m->rank > 5)
		return 1;
	for (i = 0; i < m->rank; i++) {
		dim[i] = (uint64_t)m->dim[i];
		box[i] = (uint32_t)m->box[i];
		element[i] = m->element_stride[i] ?
			     (uint32_t)m->element_stride[i] : 1;
		if (i)
			stride[i - 1] = (uint64_t)m->stride[i];
	}
	return d->cu.tensor_map(map->bytes, types[m->dtype],
				(uint32_t)m->rank, (void *)(uintptr_t)m->data,
				dim, stride, box, element, m->interleave,
				m->swizzle, m->l2_promotion, m->oob_fill);
}

/* at[i] is where argument i is read from; the result is that of a map. */
static int gather(struct kforge_device *d, const struct kf_launch *l,
		  struct map *map, void **at)
{
	int i, maps = 0, result = 0;

	for (i = 0; i < l->arg_count && !result; i++) {
		const struct kf_arg *arg = &l->arg[i];

		at[i] = (void *)(uintptr_t)&arg->v;
		if (arg->kind == KF_ARG_BYTES)
			at[i] = (void *)(uintptr_t)arg->v.p;
		if (arg->kind != KF_ARG_TENSOR_MAP)
			continue;
		if (maps == MAPS_MAX)
			return 1;
		at[i] = map[maps].bytes;
		result = encode(d, arg->v.p, &map[maps++]);
	}
	return result;
}

static struct config config_of(const struct kforge_device *d,
			       const struct kf_launch *l, struct attribute *a)
{
	const struct kf_options *o = &l->options;
	struct config c = {
		{ (unsigned)l->grid.x, (unsigned)l->grid.y,
		  (unsigned)l->grid.z },
		{ (unsigned)l->group.x, (unsigned)l->group.y,
		  (unsigned)l->group.z },
		(unsigned)l->shared_bytes, d->stream, a, 0,
	};

	memset(a, 0, 3 * sizeof(*a));
	if (o->cluster.x) {
		a[c.attribute_count].id = LAUNCH_CLUSTER;
		a[c.attribute_count].value.dim.x = (unsigned)o->cluster.x;
		a[c.attribute_count].value.dim.y = (unsigned)o->cluster.y;
		a[c.attribute_count++].value.dim.z = (unsigned)o->cluster.z;
	}
	if (o->cooperative) {
		a[c.attribute_count].id = LAUNCH_COOPERATIVE;
		a[c.attribute_count++].value.flag = 1;
	}
	if (o->dependent) {
		a[c.attribute_count].id = LAUNCH_DEPENDENT;
		a[c.attribute_count++].value.flag = 1;
	}
	return c;
}

static int allow(struct kforge_device *d, const struct kf_launch *l,
		 void *function)
{
	const struct kf_dim *cluster = &l->options.cluster;
	int result = 0;

	if (l->shared_bytes > 0)
		result = d->cu.function_set(function, FUNC_MAX_DYNAMIC_SHARED,
					    (int)l->shared_bytes);
	if (!result && cluster->x && cluster->x * cluster->y * cluster->z > 8)
		result = d->cu.function_set(function,
					    FUNC_NON_PORTABLE_CLUSTER, 1);
	return result;
}

static int launch(struct kforge_device *d, const struct kf_launch *l)
{
	struct attribute attribute[3];
	struct config config = config_of(d, l, attribute);
	struct map map[MAPS_MAX];
	void *at[ARGS_MAX], *function = NULL;
	int result = l->arg_count > ARGS_MAX;

	if (!result)
		result = d->cu.module_function(&function, d->module,
					       l->kernel);
	if (!result)
		result = allow(d, l, function);
	if (!result)
		result = gather(d, l, map, at);
	return result ? result : d->cu.launch(&config, function, at, NULL);
}

int kforge_device_launch(struct kforge_device *d, const struct kf_launch *l)
{
	char what[96];

	if (d->words[0] || enter(d))
		return 1;
	snprintf(what, sizeof(what), "launch %.80s", l->kernel);
	return leave(d, check(d, what, launch(d, l)));
}
