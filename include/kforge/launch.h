/*
 * launch.h - how a two-part program launches its kernels. Ships to users (MIT).
 *
 * A program for a GPU is two files: the kernels, in the platform's own
 * language, and host.c, plain C11, which defines kf_forward (and, if it wants,
 * kf_prepare; see program.h) and launches them through this header and nothing
 * else:
 *
 *	#include <kforge/launch.h>
 *	int kf_forward(struct kf_call *c)
 *	{
 *		int64_t n = kf_numel(&c->in[0]);
 *
 *		return kf_launch(c, "axpb", KF_DIM((n + 255) / 256),
 *				 KF_DIM(256), 0, KF_BUF(c->in[0]),
 *				 KF_BUF(c->out[0]), KF_F32(2), KF_I64(n));
 *	}
 *
 * host.c never meets the device. It is run once, without any data, and what it
 * launches is recorded and replayed for every call; so it may depend on shapes,
 * scalars and constants, and on nothing that a kernel computed. The data
 * pointers of tensors, and what kf_temp and kf_keep return, are handles of
 * device memory: hand them on, add byte offsets to them (KF_BUF_AT), never
 * read or write through them.
 *
 * Order of calls is order of execution: each sees the memory that those before
 * it wrote. Every function returns 0, or another value after a mistake; the
 * mistake is kept and fails the whole call, so return what kf_launch returns.
 * kf_temp() is scratch of one call, contents undefined; kf_keep() is written
 * in kf_prepare and only read in kf_forward.
 *
 * host.c is C, not C++. ABI: as in program.h.
 */
#ifndef KF_LAUNCH_H
#define KF_LAUNCH_H

#include <kforge/program.h>

struct kf_dim { int64_t x, y, z; };
/* KF_DIM(x), KF_DIM(x, y), KF_DIM(x, y, z): what is left out is 1. */
#define KF_DIM(...) KF_DIM_(__VA_ARGS__, 1, 1, 1)
#define KF_DIM_(a, b, c, ...) \
	((struct kf_dim) { (int64_t)(a), (int64_t)(b), (int64_t)(c) })

enum kf_arg_kind {		/* frozen */
	KF_ARG_NONE = 0,
	KF_ARG_BUFFER = 1,	/* v.p: a handle */
	KF_ARG_INT = 2,		/* v.i, `bytes` wide: 1, 2, 4, 8 */
	KF_ARG_FLOAT = 3,	/* v.f or v.d: 4 or 8 bytes wide */
	KF_ARG_BYTES = 4,	/* v.p: `bytes` bytes of host memory, a struct
				   that the kernel takes by value */
	KF_ARG_LOCAL = 5,	/* `bytes` of group memory (an OpenCL kernel's
				   __local pointer) */
	KF_ARG_TENSOR_MAP = 6	/* v.p: a struct kf_tensor_map */
};

struct kf_arg {
	uint32_t kind, bytes;
	union { int64_t i; float f; double d; const void *p; } v;
};

/* A Hopper tensor map: what cuTensorMapEncodeTiled takes, with its numbers.
 * The kernel takes it as `const __grid_constant__ CUtensorMap`. CUDA only. */
struct kf_tensor_map {
	uint32_t size;			/* sizeof(struct kf_tensor_map) */
	int32_t dtype;			/* enum kf_dtype */
	int32_t rank;			/* 1..5 */
	int32_t interleave, swizzle, l2_promotion, oob_fill;
	int32_t reserved;
	const void *data;		/* a handle */
	int64_t dim[5];			/* elements, innermost first */
	int64_t stride[5];		/* bytes; stride[0] is not used */
	int32_t box[5];
	int32_t element_stride[5];	/* 0 is 1 */
};

struct kf_options {
	struct kf_dim cluster;		/* groups of a cluster; 0: none */
	int cooperative;		/* all groups run at once: grid barriers */
	int dependent;			/* may begin before the launch in front of
					   it has ended (programmatic dependent
					   launch); waits in the kernel */
};

struct kf_launch {
	uint32_t size;			/* sizeof(struct kf_launch) */
	int32_t arg_count;
	const char *kernel;
	struct kf_dim grid;		/* in groups (blocks) */
	struct kf_dim group;		/* in threads (work-items) */
	int64_t shared_bytes;		/* dynamic group memory */
	struct kf_options options;
	const struct kf_arg *arg;
};

/* Filled in by the caller; use the functions below. */
struct kf_launch_table {
	uint32_t size;			/* sizeof(struct kf_launch_table) */
	int32_t reserved;
	int (*launch)(struct kf_call *c, const struct kf_launch *launch);
	/* count elements of width 1, 2, 4 or 8 bytes become the low bytes of
	 * value. */
	int (*fill)(struct kf_call *c, const void *to, uint64_t value,
		    int width, int64_t count);
	int (*copy)(struct kf_call *c, const void *to, const void *from,
		    int64_t bytes);
};

/* --- arguments ----------------------------------------------------------- */

static inline struct kf_arg kf_arg_buffer(const void *handle)
{
	struct kf_arg arg = { KF_ARG_BUFFER, 8, { 0 } };

	arg.v.p = handle;
	return arg;
}

static inline struct kf_arg kf_arg_int(int64_t value, uint32_t bytes)
{
	struct kf_arg arg = { KF_ARG_INT, bytes, { 0 } };

	arg.v.i = value;
	return arg;
}

static inline struct kf_arg kf_arg_f32(float value)
{
	struct kf_arg arg = { KF_ARG_FLOAT, 4, { 0 } };

	arg.v.f = value;
	return arg;
}

static inline struct kf_arg kf_arg_f64(double value)
{
	struct kf_arg arg = { KF_ARG_FLOAT, 8, { 0 } };

	arg.v.d = value;
	return arg;
}

static inline struct kf_arg kf_arg_bytes(uint32_t kind, const void *p,
					 size_t bytes)
{
	struct kf_arg arg = { kind, (uint32_t)bytes, { 0 } };

	arg.v.p = p;
	return arg;
}

static inline const void *kf_at(const void *handle, int64_t bytes)
{
	return (const void *)((uintptr_t)handle + (uintptr_t)bytes);
}

static inline const void *kf_data(struct kf_tensor t)
{
	return t.data;
}

static inline const void *kf_data_of(const struct kf_tensor *t)
{
	return t ? t->data : (const void *)0;
}

static inline const void *kf_data_is(const void *handle)
{
	return handle;
}

/* The handle of a tensor, of a pointer to one (kf_weight), or of scratch. */
#define KF_HANDLE(x) (_Generic((x), struct kf_tensor: kf_data, \
	struct kf_tensor *: kf_data_of, const struct kf_tensor *: kf_data_of, \
	default: kf_data_is)(x))

#define KF_BUF(x)		kf_arg_buffer(KF_HANDLE(x))
#define KF_BUF_AT(x, bytes)	kf_arg_buffer(kf_at(KF_HANDLE(x), (bytes)))
#define KF_I8(x)	kf_arg_int((int64_t)(x), 1)
#define KF_I16(x)	kf_arg_int((int64_t)(x), 2)
#define KF_I32(x)	kf_arg_int((int64_t)(x), 4)
#define KF_I64(x)	kf_arg_int((int64_t)(x), 8)
#define KF_U8(x)	kf_arg_int((int64_t)(x), 1)
#define KF_U16(x)	kf_arg_int((int64_t)(x), 2)
#define KF_U32(x)	kf_arg_int((int64_t)(x), 4)
#define KF_U64(x)	kf_arg_int((int64_t)(x), 8)
#define KF_F32(x)	kf_arg_f32((float)(x))
#define KF_F64(x)	kf_arg_f64((double)(x))
/* A struct by value: KF_BYTES(&s, sizeof(s)). */
#define KF_BYTES(p, n)	kf_arg_bytes(KF_ARG_BYTES, (p), (n))
#define KF_LOCAL(n)	kf_arg_bytes(KF_ARG_LOCAL, (const void *)0, (n))
#define KF_TMAP(map)	kf_arg_bytes(KF_ARG_TENSOR_MAP, (map), \
				     sizeof(struct kf_tensor_map))

/* --- what a program calls ------------------------------------------------ */

static inline int kf_launch_args(struct kf_call *c, const char *kernel,
				 struct kf_dim grid, struct kf_dim group,
				 int64_t shared_bytes,
				 const struct kf_options *options,
				 const struct kf_arg *arg, int32_t arg_count)
{
	struct kf_launch l;

	l.size = (uint32_t)sizeof(l);
	l.arg_count = arg_count;
	l.kernel = kernel;
	l.grid = grid;
	l.group = group;
	l.shared_bytes = shared_bytes;
	l.options = *options;
	l.arg = arg;
	return c->launch->launch(c, &l);
}

/* The first of the list is a place holder, so that there may be none. */
#define KF_ARGS_(...) ((const struct kf_arg[]) { { 0, 0, { 0 } }, ##__VA_ARGS__ })
#define KF_ARG_COUNT_(...) ((int32_t)(sizeof(KF_ARGS_(__VA_ARGS__)) / \
				      sizeof(struct kf_arg)) - 1)

#define kf_launch(c, kernel, grid, group, shared_bytes, ...) \
	kf_launch_with(c, kernel, grid, group, shared_bytes, \
		       ((struct kf_options) { { 0, 0, 0 }, 0, 0 }), \
		       ##__VA_ARGS__)
/* With a struct kf_options: a variable, or a literal in parentheses:
 * ((struct kf_options) { .cluster = KF_DIM(2), .cooperative = 1 }). */
#define kf_launch_with(c, kernel, grid, group, shared_bytes, options, ...) \
	kf_launch_args((c), (kernel), (grid), (group), (shared_bytes), \
		       &(const struct kf_options[]) { options }[0], \
		       KF_ARGS_(__VA_ARGS__) + 1, KF_ARG_COUNT_(__VA_ARGS__))

static inline int kf_fill_(struct kf_call *c, const void *to, uint64_t value,
			   int width, int64_t count)
{
	return c->launch->fill(c, to, value, width, count);
}

static inline uint32_t kf_fill_int(int64_t value)
{
	return (uint32_t)value;
}

static inline uint32_t kf_fill_float(float value)
{
	union { float f; uint32_t bits; } u;

	u.f = value;
	return u.bits;
}

static inline int kf_copy_(struct kf_call *c, const void *to, const void *from,
			   int64_t bytes)
{
	return c->launch->copy(c, to, from, bytes);
}

/* bytes of zeros; count elements of 32 bits, floats where value is a float or
 * a double; bytes from one place to another. In order with launches; to and
 * from as in KF_BUF. */
#define kf_zero(c, to, bytes) kf_fill_((c), KF_HANDLE(to), 0, 1, (bytes))
#define kf_fill32(c, to, value, count) \
	kf_fill_((c), KF_HANDLE(to), _Generic((value), float: kf_fill_float, \
		double: kf_fill_float, default: kf_fill_int)(value), \
		4, (count))
#define kf_copy(c, to, from, bytes) \
	kf_copy_((c), KF_HANDLE(to), KF_HANDLE(from), (bytes))

#endif
