/*
 * program.h - what a candidate program is: the contract between kforge and
 * the programs it judges. Ships to users (MIT): a program written to it is
 * also a library that any C, C++ or Python program can load.
 *
 * A program defines, with C linkage:
 *
 *	int kf_forward(struct kf_call *c);	required; 0 is good
 *	int kf_prepare(struct kf_call *c);	optional; 0 is good
 *
 * kf_forward computes every output from the inputs. kf_prepare runs before
 * the first kf_forward and again whenever weights change; it sees shapes and
 * weights, never the data of inputs (in[].data is NULL), and leaves what it
 * computes in kf_keep().
 *
 * Tensors are contiguous and row-major. in[] holds the tensors of the
 * problem's get_inputs() in order of forward's parameters, lists flattened; a
 * None is a tensor of rank 0, dtype KF_DTYPE_NONE and data NULL. scalar[]
 * holds its Python ints, floats and bools, in order. weight[] holds
 * parameters, buffers and plain tensor attributes in state_dict order, by
 * name. out[] is allocated by the caller, aligned to 256 bytes, and holds
 * rubbish: write every element.
 *
 * Threads: kf_forward may use threads (OpenMP) but must have joined or parked
 * them when it returns: all work is done when it returns.
 * ABI: every struct begins with its size in bytes; members are only ever added
 * at the end; dtype numbers are frozen.
 */
#ifndef KF_PROGRAM_H
#define KF_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#ifndef KF_BASE_H
enum kf_dtype {
	KF_DTYPE_NONE = 0, KF_BOOL = 1, KF_U8 = 2, KF_I8 = 3, KF_I16 = 4,
	KF_I32 = 5, KF_I64 = 6, KF_F16 = 7, KF_BF16 = 8, KF_F32 = 9, KF_F64 = 10
};
#endif

struct kf_tensor {
	uint32_t size;		/* sizeof(struct kf_tensor) */
	int32_t dtype;		/* enum kf_dtype */
	int32_t rank;		/* 0..8; rank 0 has one element */
	int32_t reserved;
	void *data;		/* const for in[] and weight[] */
	const char *name;	/* weights: "fc.bias"; others may be NULL */
	int64_t shape[8];
};

struct kf_scalar {
	uint32_t size;		/* sizeof(struct kf_scalar) */
	int32_t kind;		/* 'i' int, 'f' float, 'b' bool */
	int64_t i;		/* the value as an integer */
	double f;		/* the value as a floating-point number */
};

struct kf_launch_table;		/* launch.h */

struct kf_call {
	uint32_t size;		/* sizeof(struct kf_call) */
	int32_t in_count, scalar_count, weight_count, out_count;
	const struct kf_tensor *in;
	const struct kf_scalar *scalar;
	const struct kf_tensor *weight;
	const struct kf_tensor *out;
	void *queue;		/* NULL on the CPU */
	/* Filled in by the caller; use the functions below. */
	void *(*temp)(struct kf_call *c, size_t bytes);
	void *(*keep)(struct kf_call *c, int slot, size_t bytes);
	void *owner;
	const struct kf_launch_table *launch;	/* launch.h; NULL on the CPU */
};

#ifdef __cplusplus
extern "C" {
#endif
int kf_forward(struct kf_call *c);
int kf_prepare(struct kf_call *c);
#ifdef __cplusplus
}
#endif

/* Scratch memory, 256-byte aligned, contents undefined, gone when the call
 * returns. NULL when the memory limit is reached. */
static inline void *kf_temp(struct kf_call *c, size_t bytes)
{
	return c->temp(c, bytes);
}

/* Memory that lives as long as the weights do, 256-byte aligned. slot is
 * 0..15; kf_prepare's first call for a slot allocates it zero-filled, later
 * calls for the same slot return the same memory. Write it in kf_prepare and
 * only read it in kf_forward. NULL when out of memory or never prepared. */
static inline void *kf_keep(struct kf_call *c, int slot, size_t bytes)
{
	return c->keep(c, slot, bytes);
}

static inline int64_t kf_numel(const struct kf_tensor *t)
{
	int64_t n = 1;
	int i;

	for (i = 0; i < t->rank; i++)
		n *= t->shape[i];
	return n;
}

/* The weight of that name, or NULL. */
static inline const struct kf_tensor *kf_weight(const struct kf_call *c,
						const char *name)
{
	int i;

	for (i = 0; i < c->weight_count; i++) {
		const char *a = c->weight[i].name, *b = name;

		while (*a && *a == *b) {
			a++;
			b++;
		}
		if (*a == *b)
			return &c->weight[i];
	}
	return (const struct kf_tensor *)0;
}

#endif
