/* See kforge_runtime.h. */
#include "kforge_runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUT_ALIGNMENT	256u	/* what program.h promises of out[] */
#define IN_ALIGNMENT	64u	/* the widest vector: no instruction wants more */
#define SLOTS		16
#define WORDS		256

struct block { void *data; size_t bytes; };

/* Scratch of the first call: single blocks, until their sum is known. */
struct piece { struct piece *next; void *data; };

struct kforge_context {
	struct kforge_program program;
	/* Inputs, weights, outputs: as they are, and the copy that a call gets,
	 * for a program may write to what it is given. */
	struct kf_tensor *tensor, *tensor_now;
	struct kf_scalar *scalar_now;
	int tensor_count;
	/* One for each tensor, 256-byte aligned: arguments that lie otherwise
	 * are copied through it. */
	void **aligned;
	void **pointer;		/* a DLPack call's arguments */
	struct kforge_parts *parts;
	struct block kept[SLOTS];
	int preparing, sizing, temp_failed;
	struct piece *piece;
	unsigned char *scratch;
	size_t scratch_bytes, scratch_used;
	char error[WORDS];
};

/* Of a context that could not be made. */
static _Thread_local char why_none[WORDS];

/* --- statuses ------------------------------------------------------------ */

const char *kforge_message(int status)
{
	static const char *const words[] = {
		[KFORGE_OK] = "good",
		[KFORGE_E_ARGUMENT] = "a pointer is NULL",
		[KFORGE_E_MEMORY] = "out of memory",
		[KFORGE_E_CPU] = "built for another processor: run make again",
		[KFORGE_E_PROGRAM] = "the program returned an error",
		[KFORGE_E_DEVICE] = "a tensor is not in host memory",
		[KFORGE_E_DTYPE] = "a tensor has another element type",
		[KFORGE_E_SHAPE] = "a tensor has another shape",
		[KFORGE_E_STRIDES] = "a tensor is not contiguous",
		[KFORGE_E_COUNT] = "too few or too many tensors",
		[KFORGE_E_READ_ONLY] = "an output is read-only",
		[KFORGE_E_VERSION] = "a tensor has an unknown DLPack version",
		[KFORGE_E_LAUNCH] = "the GPU is not there, or refuses the program",
	};
	size_t count = sizeof(words) / sizeof(words[0]);

	return status >= 0 && (size_t)status < count ? words[status]
						     : "unknown status";
}

const char *kforge_error(const struct kforge_context *context)
{
	return context ? context->error : why_none;
}

/* Writes a sentence that names the tensor, and gives the status back. */
static int fail(struct kforge_context *x, int status, const char *name,
		const char *words)
{
	snprintf(x->error, sizeof(x->error), "%s%s%s", name ? name : "",
		 name ? ": " : "", words ? words : kforge_message(status));
	return status;
}

/* --- memory -------------------------------------------------------------- */

static size_t rounded(size_t bytes)
{
	return (bytes + OUT_ALIGNMENT - 1) / OUT_ALIGNMENT * OUT_ALIGNMENT;
}

/* Aligned to 256 bytes, and a whole number of them; NULL if there is none. */
static void *allocate(size_t bytes)
{
	if (bytes > SIZE_MAX - OUT_ALIGNMENT)
		return NULL;
	return aligned_alloc(OUT_ALIGNMENT, rounded(bytes ? bytes : 1));
}

static void *sizing_temp(struct kforge_context *x, size_t bytes)
{
	struct piece *piece = malloc(sizeof(*piece));
	void *data = allocate(bytes);

	if (!piece || !data) {
		free(piece);
		free(data);
		x->temp_failed = 1;
		return NULL;
	}
	*piece = (struct piece) { x->piece, data };
	x->piece = piece;
	x->scratch_bytes += rounded(bytes ? bytes : 1);
	return data;
}

static void *give_temp(struct kf_call *c, size_t bytes)
{
	struct kforge_context *x = c->owner;
	size_t take;
	void *data;

	if (x->sizing)
		return sizing_temp(x, bytes);
	if (bytes > x->scratch_bytes - x->scratch_used) {
		x->temp_failed = 1;
		return NULL;
	}
	take = rounded(bytes ? bytes : 1);
	if (take > x->scratch_bytes - x->scratch_used) {
		x->temp_failed = 1;
		return NULL;
	}
	data = x->scratch + x->scratch_used;
	x->scratch_used += take;
	return data;
}

static void *give_keep(struct kf_call *c, int slot, size_t bytes)
{
	struct kforge_context *x = c->owner;
	struct block *block;

	if (slot < 0 || slot >= SLOTS)
		return NULL;
	block = &x->kept[slot];
	if (!block->data && x->preparing) {
		block->data = allocate(bytes);
		if (!block->data)
			return NULL;
		block->bytes = rounded(bytes ? bytes : 1);
		memset(block->data, 0, block->bytes);
	}
	return bytes <= block->bytes ? block->data : NULL;
}

static void drop_pieces(struct kforge_context *x)
{
	while (x->piece) {
		struct piece *next = x->piece->next;

		free(x->piece->data);
		free(x->piece);
		x->piece = next;
	}
}

static void drop_kept(struct kforge_context *x)
{
	int i;

	for (i = 0; i < SLOTS; i++) {
		free(x->kept[i].data);
		x->kept[i] = (struct block) { NULL, 0 };
	}
}

/* --- calls --------------------------------------------------------------- */

static const struct kforge_tensor_spec *spec_of(const struct kforge_program *p,
						int i)
{
	if (i < p->in_count)
		return &p->in[i];
	i -= p->in_count;
	return i < p->weight_count ? &p->weight[i]
				   : &p->out[i - p->weight_count];
}

/* What became of a call, with its sentence. */
static int call_ended(struct kforge_context *x, int rc)
{
	const char *words = "";

	if (!rc)
		return KFORGE_OK;
	if (x->temp_failed)
		return fail(x, KFORGE_E_MEMORY, NULL, NULL);
	if (x->parts)
		words = x->program.parts->words(x->parts);
	if (words[0])
		return fail(x, KFORGE_E_LAUNCH, NULL, words);
	snprintf(x->error, sizeof(x->error), "the program returned %d", rc);
	return KFORGE_E_PROGRAM;
}

static int run(struct kforge_context *x, int (*function)(struct kf_call *c),
	       int with_data, void *queue)
{
	const struct kforge_program *p = &x->program;
	struct kf_tensor *t = x->tensor_now;
	struct kf_call call = {
		.size = sizeof(call),
		.in_count = p->in_count,
		.scalar_count = p->scalar_count,
		.weight_count = p->weight_count,
		.out_count = p->out_count,
		.in = t,
		.scalar = x->scalar_now,
		.weight = t + p->in_count,
		.out = t + p->in_count + p->weight_count,
		.queue = queue,
		.temp = give_temp,
		.keep = give_keep,
		.owner = x,
	};
	int i;

	memcpy(t, x->tensor, (size_t)x->tensor_count * sizeof(*t));
	if (p->scalar_count)
		memcpy(x->scalar_now, p->scalar,
		       (size_t)p->scalar_count * sizeof(*p->scalar));
	for (i = 0; !with_data && i < x->tensor_count; i++)
		if (i < p->in_count || i >= p->in_count + p->weight_count)
			t[i].data = NULL;
	x->scratch_used = 0;
	x->temp_failed = 0;
	return call_ended(x, x->parts ? p->parts->run(x->parts, function,
						      &call, with_data)
				      : function(&call));
}

int kforge_call(struct kforge_context *x, const void *const *in,
		void *const *out)
{
	const struct kforge_program *p = &x->program;
	struct kf_tensor *tout = x->tensor + p->in_count + p->weight_count;
	void **bounce = x->aligned + p->in_count + p->weight_count;
	int i, status;

	for (i = 0; i < p->in_count; i++) {
		const void *data = p->in[i].dtype ? *in++ : NULL;

		if (p->in[i].dtype && p->in[i].bytes && !data)
			return fail(x, KFORGE_E_ARGUMENT, p->in[i].name, NULL);
		if ((uintptr_t)data % IN_ALIGNMENT) {
			memcpy(x->aligned[i], data, p->in[i].bytes);
			data = x->aligned[i];
		}
		x->tensor[i].data = (void *)(uintptr_t)data;
	}
	for (i = 0; i < p->out_count; i++) {
		if (p->out[i].bytes && !out[i])
			return fail(x, KFORGE_E_ARGUMENT, p->out[i].name, NULL);
		tout[i].data = (uintptr_t)out[i] % OUT_ALIGNMENT ? bounce[i]
								 : out[i];
	}
	status = run(x, p->forward, 1, NULL);
	for (i = 0; !status && i < p->out_count; i++)
		if (tout[i].data != out[i])
			memcpy(out[i], tout[i].data, p->out[i].bytes);
	return status;
}

int kforge_call_on(struct kforge_context *x, void *queue,
		   const void *const *in, void *const *out)
{
	const struct kforge_program *p = &x->program;
	struct kf_tensor *tout = x->tensor + p->in_count + p->weight_count;
	int i;

	if (!queue)
		return fail(x, KFORGE_E_ARGUMENT, "the stream", NULL);
	for (i = 0; i < p->in_count; i++) {
		const void *data = p->in[i].dtype ? *in++ : NULL;

		if (p->in[i].dtype && p->in[i].bytes && !data)
			return fail(x, KFORGE_E_ARGUMENT, p->in[i].name, NULL);
		x->tensor[i].data = (void *)(uintptr_t)data;
	}
	for (i = 0; i < p->out_count; i++) {
		if (p->out[i].bytes && !out[i])
			return fail(x, KFORGE_E_ARGUMENT, p->out[i].name, NULL);
		tout[i].data = out[i];
	}
	return run(x, p->forward, 1, queue);
}

/* Its scratch is not that of calls: pieces that go when it is over. */
static int prepare(struct kforge_context *x)
{
	size_t scratch_bytes = x->scratch_bytes;
	int status;

	x->preparing = x->sizing = 1;
	status = run(x, x->program.prepare, 0, NULL);
	x->preparing = x->sizing = 0;
	x->scratch_bytes = scratch_bytes;
	drop_pieces(x);
	return status;
}

int kforge_set_weights(struct kforge_context *x, const void *const *weights)
{
	const struct kforge_program *p = &x->program;
	int i;

	for (i = 0; i < p->weight_count; i++) {
		const struct kforge_tensor_spec *w = &p->weight[i];
		void *copy = x->aligned[p->in_count + i];
		const void *data = weights ? weights[i] : NULL;

		if (w->bytes && !data)
			return fail(x, KFORGE_E_ARGUMENT, w->name, NULL);
		if ((uintptr_t)data % IN_ALIGNMENT) {
			if (!copy)
				copy = allocate(w->bytes);
			if (!copy)
				return fail(x, KFORGE_E_MEMORY, w->name, NULL);
			x->aligned[p->in_count + i] = copy;
			memcpy(copy, data, w->bytes);
			data = copy;
		}
		x->tensor[p->in_count + i].data = (void *)(uintptr_t)data;
	}
	drop_kept(x);
	if (x->parts && p->parts->set_weights(x->parts,
					      x->tensor + p->in_count))
		return call_ended(x, 1);
	return p->prepare ? prepare(x) : KFORGE_OK;
}

/* --- DLPack -------------------------------------------------------------- */

/* By enum kf_dtype; bool also comes as an unsigned byte. */
static const struct { uint8_t code, bits; } dl_types[] = {
	[KF_BOOL] = { kDLBool, 8 }, [KF_U8] = { kDLUInt, 8 },
	[KF_I8] = { kDLInt, 8 }, [KF_I16] = { kDLInt, 16 },
	[KF_I32] = { kDLInt, 32 }, [KF_I64] = { kDLInt, 64 },
	[KF_F16] = { kDLFloat, 16 }, [KF_BF16] = { kDLBfloat, 16 },
	[KF_F32] = { kDLFloat, 32 }, [KF_F64] = { kDLFloat, 64 },
};

static int in_host_memory(const DLTensor *t)
{
	int type = (int)t->device.device_type;

	return type == kDLCPU || type == kDLCUDAHost || type == kDLROCMHost;
}

static int same_type(const DLTensor *t, int dtype)
{
	if (t->dtype.lanes != 1 || t->dtype.bits != dl_types[dtype].bits)
		return 0;
	return t->dtype.code == dl_types[dtype].code ||
	       (dtype == KF_BOOL && t->dtype.code == kDLUInt);
}

/* An axis of one element may have any stride, and so may an empty tensor. */
static int contiguous(const DLTensor *t, const struct kforge_tensor_spec *s)
{
	int64_t step = 1;
	int i;

	if (!t->strides || !s->bytes)
		return 1;
	for (i = s->rank - 1; i >= 0; i--) {
		if (s->shape[i] != 1 && t->strides[i] != step)
			return 0;
		step *= s->shape[i];
	}
	return 1;
}

static int wrong_shape(struct kforge_context *x, const DLTensor *t,
		       const struct kforge_tensor_spec *s)
{
	char words[WORDS / 2] = "its shape is not (";
	size_t at = strlen(words);
	int i;

	for (i = 0; i < s->rank && at < sizeof(words); i++)
		at += (size_t)snprintf(words + at, sizeof(words) - at, "%s%lld",
				       i ? ", " : "", (long long)s->shape[i]);
	if (at < sizeof(words))
		snprintf(words + at, sizeof(words) - at, ")");
	(void)t;
	return fail(x, KFORGE_E_SHAPE, s->name, words);
}

static int check_tensor(struct kforge_context *x, const DLTensor *t,
			const struct kforge_tensor_spec *s)
{
	int i;

	if (!t || (s->bytes && !t->data))
		return fail(x, KFORGE_E_ARGUMENT, s->name, NULL);
	if (!in_host_memory(t))
		return fail(x, KFORGE_E_DEVICE, s->name,
			    "it is not in host memory");
	if (!same_type(t, s->dtype))
		return fail(x, KFORGE_E_DTYPE, s->name,
			    "it has another element type");
	if (t->ndim != s->rank)
		return wrong_shape(x, t, s);
	for (i = 0; i < s->rank; i++)
		if (t->shape[i] != s->shape[i])
			return wrong_shape(x, t, s);
	if (!contiguous(t, s))
		return fail(x, KFORGE_E_STRIDES, s->name,
			    "it is not contiguous and row-major");
	return KFORGE_OK;
}

/* How many tensors a caller gives: arguments that are None are left out. */
static int given_count(const struct kforge_program *p)
{
	int i, count = 0;

	for (i = 0; i < p->in_count; i++)
		count += p->in[i].dtype != KF_DTYPE_NONE;
	return count;
}

typedef const DLTensor *get_tensor(const void *list, int i);

/* Checks every tensor, then calls. */
static int call_checked(struct kforge_context *x, const void *in, int in_count,
			const void *out, int out_count, get_tensor *get)
{
	const struct kforge_program *p = &x->program;
	void **from = x->pointer, **to = x->pointer + p->in_count;
	int i, k = 0, status;

	if (in_count != given_count(p) || out_count != p->out_count)
		return fail(x, KFORGE_E_COUNT, NULL, NULL);
	if ((in_count && !in) || (out_count && !out))
		return fail(x, KFORGE_E_ARGUMENT, NULL, NULL);
	for (i = 0; i < p->in_count; i++) {
		const DLTensor *t;

		if (p->in[i].dtype == KF_DTYPE_NONE)
			continue;
		t = get(in, k);
		status = check_tensor(x, t, &p->in[i]);
		if (status)
			return status;
		from[k++] = (char *)t->data + t->byte_offset;
	}
	for (i = 0; i < p->out_count; i++) {
		const DLTensor *t = get(out, i);

		status = check_tensor(x, t, &p->out[i]);
		if (status)
			return status;
		to[i] = (char *)t->data + t->byte_offset;
	}
	return kforge_call(x, (const void *const *)from, to);
}

static const DLTensor *get_plain(const void *list, int i)
{
	return ((const DLTensor *const *)list)[i];
}

static const DLTensor *get_managed(const void *list, int i)
{
	const DLManagedTensor *t = ((DLManagedTensor *const *)list)[i];

	return t ? &t->dl_tensor : NULL;
}

static const DLTensor *get_versioned(const void *list, int i)
{
	const DLManagedTensorVersioned *t =
		((DLManagedTensorVersioned *const *)list)[i];

	return t ? &t->dl_tensor : NULL;
}

int kforge_call_dl(struct kforge_context *x, const DLTensor *const *in,
		   int in_count, const DLTensor *const *out, int out_count)
{
	return call_checked(x, in, in_count, out, out_count, get_plain);
}

int kforge_call_managed(struct kforge_context *x, DLManagedTensor *const *in,
			int in_count, DLManagedTensor *const *out,
			int out_count)
{
	return call_checked(x, in, in_count, out, out_count, get_managed);
}

static int check_versions(struct kforge_context *x,
			  DLManagedTensorVersioned *const *list, int count,
			  int written)
{
	int i;

	for (i = 0; list && i < count; i++) {
		if (list[i] && list[i]->version.major != 1)
			return fail(x, KFORGE_E_VERSION, NULL, NULL);
		if (list[i] && written &&
		    (list[i]->flags & DLPACK_FLAG_BITMASK_READ_ONLY))
			return fail(x, KFORGE_E_READ_ONLY, NULL, NULL);
	}
	return KFORGE_OK;
}

int kforge_call_versioned(struct kforge_context *x,
			  DLManagedTensorVersioned *const *in, int in_count,
			  DLManagedTensorVersioned *const *out, int out_count)
{
	int status = check_versions(x, in, in_count, 0);

	if (!status)
		status = check_versions(x, out, out_count, 1);
	return status ? status : call_checked(x, in, in_count, out, out_count,
					      get_versioned);
}

/* --- making and freeing -------------------------------------------------- */

/* With a value that the argument may have. */
static void fill(void *data, const struct kforge_tensor_spec *s)
{
	size_t i;

#define FILL(dtype_, type) \
	for (i = 0; s->dtype == (dtype_) && i < s->bytes / sizeof(type); i++) \
		((type *)data)[i] = (type)s->fill
	memset(data, 0, s->bytes);
	FILL(KF_U8, uint8_t);
	FILL(KF_I8, int8_t);
	FILL(KF_I16, int16_t);
	FILL(KF_I32, int32_t);
	FILL(KF_I64, int64_t);
	FILL(KF_F32, float);
	FILL(KF_F64, double);
#undef FILL
}

static int make_tensors(struct kforge_context *x)
{
	const struct kforge_program *p = &x->program;
	size_t count = (size_t)(p->in_count + p->weight_count + p->out_count);
	int i;

	x->tensor_count = (int)count;
	x->tensor = calloc(count + 1, sizeof(*x->tensor));
	x->tensor_now = calloc(count + 1, sizeof(*x->tensor_now));
	x->scalar_now = calloc((size_t)p->scalar_count + 1,
			       sizeof(*x->scalar_now));
	x->aligned = calloc(count + 1, sizeof(*x->aligned));
	x->pointer = calloc(count + 1, sizeof(*x->pointer));
	if (!x->tensor || !x->tensor_now || !x->scalar_now || !x->aligned ||
	    !x->pointer)
		return KFORGE_E_MEMORY;
	for (i = 0; i < x->tensor_count; i++) {
		const struct kforge_tensor_spec *s = spec_of(p, i);
		int is_weight = i >= p->in_count &&
				i < p->in_count + p->weight_count;

		x->tensor[i].size = sizeof(*x->tensor);
		x->tensor[i].dtype = s->dtype;
		x->tensor[i].rank = s->rank;
		x->tensor[i].name = is_weight ? s->name : NULL;
		memcpy(x->tensor[i].shape, s->shape, sizeof(s->shape));
		if (is_weight || !s->dtype)
			continue;
		x->aligned[i] = allocate(s->bytes);
		if (!x->aligned[i])
			return KFORGE_E_MEMORY;
		fill(x->aligned[i], s);
		x->tensor[i].data = x->aligned[i];
	}
	return KFORGE_OK;
}

/* One call on made-up inputs: its scratch is what all calls get. */
static int find_scratch(struct kforge_context *x)
{
	int status;

	x->scratch_bytes = 0;
	x->sizing = 1;
	status = run(x, x->program.forward, 1, NULL);
	x->sizing = 0;
	drop_pieces(x);
	if (status || !x->scratch_bytes)
		return status;
	x->scratch = allocate(x->scratch_bytes);
	if (!x->scratch)
		return KFORGE_E_MEMORY;
	memset(x->scratch, 0, x->scratch_bytes);	/* its pages are there */
	return KFORGE_OK;
}

int kforge_context_new(const struct kforge_program *program,
		       const void *const *weights, struct kforge_context **out)
{
	struct kforge_context *x;
	int status = kforge_cpu_check();

	if (!out)
		return KFORGE_E_ARGUMENT;
	*out = NULL;
	if (status)
		return status;
	x = calloc(1, sizeof(*x));
	if (!x)
		return KFORGE_E_MEMORY;
	x->program = *program;
	status = make_tensors(x);
	if (!status && program->parts)
		status = program->parts->new_parts(&x->program, &x->parts,
						   x->error);
	if (!status)
		status = kforge_set_weights(x, weights);
	if (!status)
		status = find_scratch(x);
	if (status) {
		memcpy(why_none, x->error, sizeof(why_none));
		kforge_context_free(x);
	} else {
		*out = x;
	}
	return status;
}

void kforge_context_free(struct kforge_context *x)
{
	int i;

	if (!x)
		return;
	if (x->parts)
		x->program.parts->free_parts(x->parts);
	drop_kept(x);
	for (i = 0; x->aligned && i < x->tensor_count; i++)
		free(x->aligned[i]);
	free(x->aligned);
	free(x->pointer);
	free(x->scratch);
	free(x->scalar_now);
	free(x->tensor_now);
	free(x->tensor);
	free(x);
}
