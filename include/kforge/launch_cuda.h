/*
 * launch_cuda.h - runs a two-part program (kernels.cu and host.c, launch.h)
 * over the CUDA runtime, without kforge. Ships to users (MIT); header-only, C11
 * or C++11, CUDA 12.5 or newer.
 *
 *	nvcc -std=c++17 -gencode=arch=compute_90a,code=sm_90a \
 *		host.c kernels.cu main.c
 *
 * with a main.c (or main.cu) of yours:
 *
 *	#include <kforge/launch_cuda.h>
 *	#define LIST(X) X(axpb) X(turn)
 *	KF_CUDA_KERNELS(kernels, LIST)
 *	...
 *	struct kf_cuda cuda;
 *	struct kf_call call = { ... shapes and device memory of tensors ... };
 *
 *	kf_cuda_init(&cuda, kernels, stream);
 *	if (kf_cuda_prepare(&cuda, kf_prepare, &call) ||
 *	    kf_cuda_forward(&cuda, kf_forward, &call))
 *		... cuda.error says why ...
 *	kf_cuda_release(&cuda);
 *
 * Kernels are extern "C" __global__, as kforge wants them; the list gives their
 * names. The file that makes the table must not include kernels.cu.
 *
 * Stream:   everything is queued there, and nothing is waited for;
 *           kf_cuda_forward can be captured in a graph. The stream's device
 *           must be current.
 * Memory:   scratch (kf_temp) comes from cudaMallocAsync, or from the two
 *           functions that you set after kf_cuda_init, and is given back in the
 *           stream's order when the call is over. What kf_prepare keeps lives
 *           until it runs again, or kf_cuda_release.
 * Threads:  one at a time for each struct kf_cuda.
 * Errors:   every function returns 0, or another value and a sentence in
 *           `error`; the first of a call is kept.
 */
#ifndef KF_LAUNCH_CUDA_H
#define KF_LAUNCH_CUDA_H

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <kforge/launch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KF_CUDA_SLOTS		16	/* of kf_keep */
#define KF_CUDA_ARGS_MAX	256	/* of one launch */
#define KF_CUDA_MAPS_MAX	16	/* tensor maps of one launch */

/* The host's symbol of a kernel has the kernel's name: its address is what the
 * runtime knows it by, whatever its parameters are. */
struct kf_cuda_kernel { const char *name; void (*symbol)(void); };

#ifdef __cplusplus
#define KF_CUDA_DECLARE_(name) extern "C" void name(void);
#else
#define KF_CUDA_DECLARE_(name) extern void name(void);
#endif
#define KF_CUDA_ROW_(name) { #name, name },
/* Defines table, from a macro that applies its argument to each name. */
#define KF_CUDA_KERNELS(table, list) \
	list(KF_CUDA_DECLARE_) \
	static const struct kf_cuda_kernel table[] = { \
		list(KF_CUDA_ROW_) { 0, 0 } };

struct kf_cuda_temp { void *memory; struct kf_cuda_temp *next; };

struct kf_cuda {
	const struct kf_cuda_kernel *kernel;	/* ended by an empty one */
	cudaStream_t stream;			/* may change between calls */
	/* Where scratch comes from; NULL (both): cudaMallocAsync. */
	void *(*allocate)(void *arg, size_t bytes, cudaStream_t stream);
	void (*give_back)(void *arg, void *memory, cudaStream_t stream);
	void *arg;
	char error[256];			/* "": all is well */

	int preparing;				/* from here on: its own */
	struct kf_cuda_temp *temp;
	struct { void *memory; size_t bytes; } kept[KF_CUDA_SLOTS];
};

static inline void kf_cuda_init(struct kf_cuda *x,
				const struct kf_cuda_kernel *kernel,
				cudaStream_t stream)
{
	memset(x, 0, sizeof(*x));
	x->kernel = kernel;
	x->stream = stream;
}

/* --- mistakes ------------------------------------------------------------- */

static inline int kf_cuda_fail_(struct kf_cuda *x, const char *what,
				const char *why)
{
	if (!x->error[0])
		snprintf(x->error, sizeof(x->error), "%s: %s", what, why);
	return 1;
}

static inline int kf_cuda_check_(struct kf_cuda *x, const char *what,
				 cudaError_t result)
{
	return result == cudaSuccess ? 0 :
	       kf_cuda_fail_(x, what, cudaGetErrorString(result));
}

/* --- functions of the driver that the runtime has no name for ------------- */

typedef void kf_cuda_function_(void);

static inline kf_cuda_function_ *kf_cuda_driver_(struct kf_cuda *x,
						 const char *name)
{
	enum cudaDriverEntryPointQueryResult found;
	void *symbol = NULL;
	kf_cuda_function_ *function = NULL;

	if (cudaGetDriverEntryPointByVersion(name, &symbol, 12000,
					     cudaEnableDefault, &found) !=
		    cudaSuccess || found != cudaDriverEntryPointSuccess) {
		kf_cuda_fail_(x, name, "this driver does not have it");
		return NULL;
	}
	memcpy(&function, &symbol, sizeof(function));
	return function;
}

static inline int kf_cuda_driver_check_(struct kf_cuda *x, const char *what,
					CUresult result)
{
	char why[32];

	if (result == CUDA_SUCCESS)
		return 0;
	snprintf(why, sizeof(why), "CUDA error %d", (int)result);
	return kf_cuda_fail_(x, what, why);
}

typedef CUresult kf_cuda_fill16_(CUdeviceptr to, unsigned short value,
				 size_t count, CUstream stream);
typedef CUresult kf_cuda_fill32_(CUdeviceptr to, unsigned value, size_t count,
				 CUstream stream);
typedef CUresult kf_cuda_rows32_(CUdeviceptr to, size_t pitch, unsigned value,
				 size_t width, size_t height, CUstream stream);
typedef CUresult kf_cuda_encode_(CUtensorMap *map, CUtensorMapDataType type,
				 cuuint32_t rank, void *data,
				 const cuuint64_t *dim,
				 const cuuint64_t *stride,
				 const cuuint32_t *box,
				 const cuuint32_t *element,
				 CUtensorMapInterleave interleave,
				 CUtensorMapSwizzle swizzle,
				 CUtensorMapL2promotion promotion,
				 CUtensorMapFloatOOBfill fill);

/* --- memory --------------------------------------------------------------- */

static inline void *kf_cuda_allocate_(struct kf_cuda *x, size_t bytes)
{
	void *memory = NULL;

	if (!bytes)
		bytes = 1;
	if (x->allocate)
		memory = x->allocate(x->arg, bytes, x->stream);
	else if (cudaMallocAsync(&memory, bytes, x->stream) != cudaSuccess)
		memory = NULL;
	if (!memory)
		kf_cuda_fail_(x, "kf_temp or kf_keep", "no device memory");
	return memory;
}

static inline void kf_cuda_give_back_(struct kf_cuda *x, void *memory)
{
	if (x->allocate)
		x->give_back(x->arg, memory, x->stream);
	else
		cudaFreeAsync(memory, x->stream);
}

static inline void *kf_cuda_temp_(struct kf_call *c, size_t bytes)
{
	struct kf_cuda *x = (struct kf_cuda *)c->owner;
	struct kf_cuda_temp *temp =
		(struct kf_cuda_temp *)malloc(sizeof(*temp));

	if (!temp)
		return NULL;
	temp->memory = kf_cuda_allocate_(x, bytes);
	temp->next = x->temp;
	if (temp->memory) {
		x->temp = temp;
		return temp->memory;
	}
	free(temp);
	return NULL;
}

static inline void *kf_cuda_keep_(struct kf_call *c, int slot, size_t bytes)
{
	struct kf_cuda *x = (struct kf_cuda *)c->owner;
	void *memory;

	if (slot < 0 || slot >= KF_CUDA_SLOTS)
		return NULL;
	if (!x->kept[slot].memory && x->preparing) {
		memory = kf_cuda_allocate_(x, bytes);
		if (!memory || kf_cuda_check_(x, "kf_keep", cudaMemsetAsync(
				memory, 0, bytes, x->stream)))
			return NULL;
		x->kept[slot].memory = memory;
		x->kept[slot].bytes = bytes;
	}
	return bytes <= x->kept[slot].bytes ? x->kept[slot].memory : NULL;
}

/* --- launches ------------------------------------------------------------- */

static inline const void *kf_cuda_find_(struct kf_cuda *x, const char *name)
{
	const struct kf_cuda_kernel *k = x->kernel;
	const void *symbol = NULL;

	while (k->name && strcmp(k->name, name))
		k++;
	if (k->name)
		memcpy(&symbol, &k->symbol, sizeof(symbol));
	else
		kf_cuda_fail_(x, name, "no kernel of that name in the table");
	return symbol;
}

static inline int kf_cuda_map_(struct kf_cuda *x, const struct kf_tensor_map *m,
			       CUtensorMap *map)
{
	/* By enum kf_dtype; signed types are moved as unsigned ones. */
	static const int types[] = { 0, 0, 0, 0, 1, 3, 5, 6, 9, 7, 8 };
	kf_cuda_encode_ *encode;
	cuuint64_t dim[5], stride[5];
	cuuint32_t box[5], element[5];
	int i;

	if (m->dtype < 1 || m->dtype > 10 || m->rank < 1 || m->rank > 5)
		return kf_cuda_fail_(x, "tensor map", "bad dtype or rank");
	for (i = 0; i < m->rank; i++) {
		dim[i] = (cuuint64_t)m->dim[i];
		box[i] = (cuuint32_t)m->box[i];
		element[i] = m->element_stride[i] ?
			(cuuint32_t)m->element_stride[i] : 1;
		if (i)
			stride[i - 1] = (cuuint64_t)m->stride[i];
	}
	encode = (kf_cuda_encode_ *)
		kf_cuda_driver_(x, "cuTensorMapEncodeTiled");
	if (!encode)
		return 1;
	return kf_cuda_driver_check_(x, "tensor map", encode(map,
		(CUtensorMapDataType)types[m->dtype], (cuuint32_t)m->rank,
		(void *)(uintptr_t)m->data, dim, stride, box, element,
		(CUtensorMapInterleave)m->interleave,
		(CUtensorMapSwizzle)m->swizzle,
		(CUtensorMapL2promotion)m->l2_promotion,
		(CUtensorMapFloatOOBfill)m->oob_fill));
}

/* at[i] is where argument i is read from. */
static inline int kf_cuda_gather_(struct kf_cuda *x, const struct kf_launch *l,
				  CUtensorMap *map, void **at)
{
	int i, maps = 0;

	if (l->arg_count > KF_CUDA_ARGS_MAX)
		return kf_cuda_fail_(x, l->kernel, "too many arguments");
	for (i = 0; i < l->arg_count; i++) {
		const struct kf_arg *arg = &l->arg[i];

		at[i] = (void *)(uintptr_t)&arg->v;
		if (arg->kind == KF_ARG_BYTES)
			at[i] = (void *)(uintptr_t)arg->v.p;
		if (arg->kind == KF_ARG_LOCAL)
			return kf_cuda_fail_(x, l->kernel, "KF_LOCAL is for "
					     "OpenCL: use shared_bytes");
		if (arg->kind != KF_ARG_TENSOR_MAP)
			continue;
		if (maps == KF_CUDA_MAPS_MAX)
			return kf_cuda_fail_(x, l->kernel,
					     "too many tensor maps");
		if (kf_cuda_map_(x, (const struct kf_tensor_map *)arg->v.p,
				 &map[maps]))
			return 1;
		at[i] = &map[maps++];
	}
	return 0;
}

static inline dim3 kf_cuda_dim_(struct kf_dim d)
{
	dim3 out;

	out.x = (unsigned)d.x;
	out.y = (unsigned)d.y;
	out.z = (unsigned)d.z;
	return out;
}

static inline unsigned kf_cuda_options_(const struct kf_options *o,
					cudaLaunchAttribute *attribute)
{
	unsigned count = 0;

	memset(attribute, 0, 3 * sizeof(*attribute));
	if (o->cluster.x) {
		attribute[count].id = cudaLaunchAttributeClusterDimension;
		attribute[count].val.clusterDim.x = (unsigned)o->cluster.x;
		attribute[count].val.clusterDim.y = (unsigned)o->cluster.y;
		attribute[count++].val.clusterDim.z = (unsigned)o->cluster.z;
	}
	if (o->cooperative) {
		attribute[count].id = cudaLaunchAttributeCooperative;
		attribute[count++].val.cooperative = 1;
	}
	if (o->dependent) {
		attribute[count].id =
			cudaLaunchAttributeProgrammaticStreamSerialization;
		attribute[count++].val.programmaticStreamSerializationAllowed =
			1;
	}
	return count;
}

/* What a function must be told before it may have so much. */
static inline int kf_cuda_allow_(struct kf_cuda *x, const struct kf_launch *l,
				 const void *function)
{
	const struct kf_dim *cluster = &l->options.cluster;
	cudaError_t result = cudaSuccess;

	if (l->shared_bytes > 0)
		result = cudaFuncSetAttribute(function,
			cudaFuncAttributeMaxDynamicSharedMemorySize,
			(int)l->shared_bytes);
	if (!result && cluster->x && cluster->x * cluster->y * cluster->z > 8)
		result = cudaFuncSetAttribute(function,
			cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
	return kf_cuda_check_(x, l->kernel, result);
}

static inline int kf_cuda_launch_(struct kf_call *c, const struct kf_launch *l)
{
	struct kf_cuda *x = (struct kf_cuda *)c->owner;
	cudaLaunchAttribute attribute[3];
	cudaLaunchConfig_t config;
	CUtensorMap map[KF_CUDA_MAPS_MAX];
	void *at[KF_CUDA_ARGS_MAX];
	const void *function;

	if (x->error[0])
		return 1;
	function = kf_cuda_find_(x, l->kernel);
	if (!function || kf_cuda_allow_(x, l, function) ||
	    kf_cuda_gather_(x, l, map, at))
		return 1;
	memset((void *)&config, 0, sizeof(config));
	config.gridDim = kf_cuda_dim_(l->grid);
	config.blockDim = kf_cuda_dim_(l->group);
	config.dynamicSmemBytes = (size_t)l->shared_bytes;
	config.stream = x->stream;
	config.attrs = attribute;
	config.numAttrs = kf_cuda_options_(&l->options, attribute);
	return kf_cuda_check_(x, l->kernel,
			      cudaLaunchKernelExC(&config, function, at));
}

/* --- fills and copies ----------------------------------------------------- */

/* The runtime fills with bytes; the driver with wider elements too. Elements of
 * 8 bytes are two columns of 4. */
static inline int kf_cuda_fill_wide_(struct kf_cuda *x, CUdeviceptr to,
				     uint64_t value, int width, size_t count)
{
	unsigned low = (unsigned)value, high = (unsigned)(value >> 32);
	kf_cuda_function_ *f = kf_cuda_driver_(x, width == 2 ?
		"cuMemsetD16Async" : width == 4 ? "cuMemsetD32Async" :
		"cuMemsetD2D32Async");
	CUresult result;

	if (!f)
		return 1;
	if (width == 2)
		result = ((kf_cuda_fill16_ *)f)(to, (unsigned short)value,
						count, x->stream);
	else if (width == 4)
		result = ((kf_cuda_fill32_ *)f)(to, low, count, x->stream);
	else
		result = ((kf_cuda_rows32_ *)f)(to, 8, low, 1, count,
						x->stream);
	if (width == 8 && result == CUDA_SUCCESS)
		result = ((kf_cuda_rows32_ *)f)(to + 4, 8, high, 1, count,
						x->stream);
	return kf_cuda_driver_check_(x, "fill", result);
}

static inline int kf_cuda_memory_fill_(struct kf_call *c, const void *to,
				       uint64_t value, int width,
				       int64_t count)
{
	struct kf_cuda *x = (struct kf_cuda *)c->owner;

	if (x->error[0])
		return 1;
	if (count <= 0)
		return 0;
	if (width != 1 && value)
		return kf_cuda_fill_wide_(x, (CUdeviceptr)(uintptr_t)to, value,
					  width, (size_t)count);
	return kf_cuda_check_(x, "fill", cudaMemsetAsync(
		(void *)(uintptr_t)to, (int)(value & 255),
		(size_t)width * (size_t)count, x->stream));
}

static inline int kf_cuda_memory_copy_(struct kf_call *c, const void *to,
				       const void *from, int64_t bytes)
{
	struct kf_cuda *x = (struct kf_cuda *)c->owner;

	if (x->error[0])
		return 1;
	if (bytes <= 0)
		return 0;
	return kf_cuda_check_(x, "copy", cudaMemcpyAsync(
		(void *)(uintptr_t)to, from, (size_t)bytes,
		cudaMemcpyDeviceToDevice, x->stream));
}

/* --- calls ---------------------------------------------------------------- */

static inline int kf_cuda_run_(struct kf_cuda *x,
			       int (*function)(struct kf_call *c),
			       struct kf_call *c)
{
	struct kf_launch_table table;
	int rc;

	memset(&table, 0, sizeof(table));
	table.size = (uint32_t)sizeof(table);
	table.launch = kf_cuda_launch_;
	table.fill = kf_cuda_memory_fill_;
	table.copy = kf_cuda_memory_copy_;
	c->size = (uint32_t)sizeof(*c);
	c->queue = x->stream;
	c->temp = kf_cuda_temp_;
	c->keep = kf_cuda_keep_;
	c->owner = x;
	c->launch = &table;
	x->error[0] = '\0';
	rc = function(c);
	c->launch = NULL;
	if (rc && !x->error[0])
		kf_cuda_fail_(x, "the program", "it returned an error");
	while (x->temp) {
		struct kf_cuda_temp *next = x->temp->next;

		kf_cuda_give_back_(x, x->temp->memory);
		free(x->temp);
		x->temp = next;
	}
	return x->error[0] != '\0';
}

/* Gives back what is kept. The stream must still be there. */
static inline void kf_cuda_release(struct kf_cuda *x)
{
	int i;

	for (i = 0; i < KF_CUDA_SLOTS; i++) {
		if (x->kept[i].memory)
			kf_cuda_give_back_(x, x->kept[i].memory);
		x->kept[i].memory = NULL;
		x->kept[i].bytes = 0;
	}
}

/* Before the first kf_cuda_forward of a program that has kf_prepare, and again
 * whenever weights change. call: inputs' and outputs' data may be NULL. */
static inline int kf_cuda_prepare(struct kf_cuda *x,
				  int (*prepare)(struct kf_call *c),
				  struct kf_call *call)
{
	int failed;

	kf_cuda_release(x);
	x->preparing = 1;
	failed = kf_cuda_run_(x, prepare, call);
	x->preparing = 0;
	return failed;
}

/* call: inputs, weights and outputs in device memory. */
static inline int kf_cuda_forward(struct kf_cuda *x,
				  int (*forward)(struct kf_call *c),
				  struct kf_call *call)
{
	return kf_cuda_run_(x, forward, call);
}

#endif
