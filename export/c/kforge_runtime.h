/*
 * kforge_runtime.h - runs a program outside kforge: what the generated
 * functions are thin layers over. Not for callers of the library.
 *
 * A context owns everything that a call needs. It is made with one call of the
 * program on made-up inputs, which shows how much scratch (kf_temp) it wants; later
 * calls take their scratch from one block of that size and allocate nothing.
 */
#ifndef KFORGE_RUNTIME_H
#define KFORGE_RUNTIME_H

#include <kforge/program.h>

#include "kforge_export.h"

struct kforge_tensor_spec {
	const char *name;
	int32_t dtype;		/* enum kf_dtype; NONE: an argument that is None */
	int32_t rank;
	int64_t shape[8];
	size_t bytes;
	double fill;		/* inputs: a value that was seen in them */
};

/* How a program of two parts is run, kernels and host.c; kforge_parts.c, which
 * other libraries do not have. A call's tensors are in host memory, but inputs
 * and outputs of one that has a queue, which are on the device. Functions that
 * return an int give 0, or another value and a sentence by words ("": none). */
struct kforge_parts;
struct kforge_program;
struct kforge_parts_table {
	/* An enum kforge_status; text: at least 256 bytes. */
	int (*new_parts)(const struct kforge_program *program,
			 struct kforge_parts **out, char *text);
	int (*set_weights)(struct kforge_parts *parts,
			   const struct kf_tensor *weight);
	/* with_data: kf_forward; else kf_prepare. */
	int (*run)(struct kforge_parts *parts,
		   int (*function)(struct kf_call *c),
		   const struct kf_call *call, int with_data);
	const char *(*words)(const struct kforge_parts *parts);
	void (*free_parts)(struct kforge_parts *parts);
};
extern const struct kforge_parts_table kforge_parts;

struct kforge_program {
	const struct kforge_tensor_spec *in, *weight, *out;
	int in_count, weight_count, out_count;
	const struct kf_scalar *scalar;
	int scalar_count;
	int (*prepare)(struct kf_call *c);	/* NULL: none */
	int (*forward)(struct kf_call *c);
	const struct kforge_parts_table *parts;	/* NULL: it runs here */
};

struct kforge_context;

/* kforge_processor.c: KFORGE_OK, or KFORGE_E_CPU where this processor lacks
 * instructions that the program was compiled for. */
int kforge_cpu_check(void);
const char *kforge_message(int status);

/* The description is copied; the tables that it points to are not.
 * weights: one pointer for each of program->weight, kept until others are set
 * or the context is freed. *out is NULL after a failure. */
int kforge_context_new(const struct kforge_program *program,
		       const void *const *weights,
		       struct kforge_context **out);
/* Prepares the program anew. After a failure only another kforge_set_weights
 * and kforge_context_free may follow. */
int kforge_set_weights(struct kforge_context *context,
		       const void *const *weights);
/* in and out: one pointer for each argument that is not None. */
int kforge_call(struct kforge_context *context, const void *const *in,
		void *const *out);
/* The same with device memory, queued there and not waited for. */
int kforge_call_on(struct kforge_context *context, void *queue,
		   const void *const *in, void *const *out);
int kforge_call_dl(struct kforge_context *context, const DLTensor *const *in,
		   int in_count, const DLTensor *const *out, int out_count);
int kforge_call_managed(struct kforge_context *context,
			DLManagedTensor *const *in, int in_count,
			DLManagedTensor *const *out, int out_count);
int kforge_call_versioned(struct kforge_context *context,
			  DLManagedTensorVersioned *const *in, int in_count,
			  DLManagedTensorVersioned *const *out, int out_count);
/* NULL: why this thread's last kforge_context_new failed. */
const char *kforge_error(const struct kforge_context *context);
void kforge_context_free(struct kforge_context *context);

/* kforge_cpu.c: what the program's flags let the compiler use, each word after
 * a space. */
extern const char kforge_cpu_needs[];

#endif
