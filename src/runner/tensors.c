/* The table of tensors in a request, and the calls that are made from it. */
#include "runner/runner.h"

#include <math.h>

#define TABLES	3u	/* inputs, weights, outputs */

/* Behind the last of each table: else in[in_count] were a weight or an output,
 * and who takes one too many would compute with it. Nothing lies there. */
static const struct kf_tensor beyond = {
	.size = sizeof(struct kf_tensor),
	.data = (void *)(uintptr_t)256,
	.name = "beyond the last",
};
static const struct kf_scalar scalar_beyond = {
	.size = sizeof(struct kf_scalar),
	.i = INT64_MIN,
	.f = (double)NAN,
};

static const struct kf_host_tensor *table(const struct kf_runner_tensors *t)
{
	return (const struct kf_host_tensor *)(t->request + 1);
}

static const struct kf_scalar *scalars(const struct kf_runner_tensors *t)
{
	return (const struct kf_scalar *)(table(t) + t->count);
}

static const char *names(const struct kf_runner_tensors *t)
{
	return (const char *)(scalars(t) + t->request->scalar_count);
}

static void make_tensors(struct kf_runner_tensors *t)
{
	const struct kf_host_request *r = t->request;

	t->tensor = kf_alloc(t->count * sizeof(t->tensor[0]));
	t->now = kf_alloc((t->count + TABLES) * sizeof(t->now[0]));
	t->scalar_now = kf_alloc((r->scalar_count + 1) *
				 sizeof(t->scalar_now[0]));
	for (size_t i = 0; i < t->count; i++) {
		const struct kf_host_tensor *from = &table(t)[i];

		t->tensor[i] = (struct kf_tensor) {
			.size = sizeof(struct kf_tensor),
			.dtype = from->dtype,
			.rank = from->rank,
		};
		if (i >= r->in_count && i - r->in_count < r->weight_count)
			t->tensor[i].name = names(t) + from->name;
		memcpy(t->tensor[i].shape, from->shape, sizeof(from->shape));
	}
}

enum kf_code kf_runner_tensors_open(struct kf_runner_tensors *t,
				    struct kf_err *err)
{
	const struct kf_host_request *r;
	uint64_t bytes, need;

	*t = (struct kf_runner_tensors) { 0 };
	r = t->request = kf_runner_map(KF_RUNNER_FD_REQUEST, false, &bytes,
				       err);
	if (!r)
		return KF_E_IO;
	t->count = (size_t)r->in_count + r->weight_count + r->out_count;
	need = sizeof(*r) + t->count * sizeof(struct kf_host_tensor) +
	       r->scalar_count * sizeof(struct kf_scalar) + r->names_bytes;
	if (r->magic != KF_HOST_MAGIC || need > bytes)
		return kf_fail(err, KF_E_INPUT, "malformed request");
	make_tensors(t);
	return KF_OK;
}

void kf_runner_tensors_place(struct kf_runner_tensors *t, const void *inputs,
			     void *outputs)
{
	const struct kf_host_request *r = t->request;

	for (size_t i = 0; i < t->count; i++) {
		const struct kf_host_tensor *from = &table(t)[i];
		const char *in = inputs;
		char *out = outputs;

		if (from->dtype == KF_DTYPE_NONE)
			continue;
		if (i < (size_t)r->in_count + r->weight_count)
			t->tensor[i].data = (void *)(uintptr_t)
				(in + from->offset);
		else
			t->tensor[i].data = out + from->offset;
	}
}

struct kf_tensor *kf_runner_tensor_now(const struct kf_runner_tensors *t,
				       size_t i)
{
	const struct kf_host_request *r = t->request;
	size_t weights = (size_t)r->in_count + r->weight_count;

	return &t->now[i + (i >= r->in_count) + (i >= weights)];
}

static void copy_afresh(struct kf_runner_tensors *t, bool with_data)
{
	const struct kf_host_request *r = t->request;

	for (size_t i = 0; i < t->count + TABLES; i++)
		t->now[i] = beyond;
	for (size_t i = 0; i < t->count; i++) {
		struct kf_tensor *now = kf_runner_tensor_now(t, i);

		*now = t->tensor[i];
		if (!with_data && (i < r->in_count ||
				   i >= (size_t)r->in_count + r->weight_count))
			now->data = NULL;
	}
	if (r->scalar_count)
		memcpy(t->scalar_now, scalars(t), r->scalar_count *
		       sizeof(t->scalar_now[0]));
	t->scalar_now[r->scalar_count] = scalar_beyond;
}

struct kf_call kf_runner_call(struct kf_runner_tensors *tensors,
			      bool with_data)
{
	const struct kf_host_request *r = tensors->request;
	struct kf_tensor *t = tensors->now;
	struct kf_call call = {
		.size = sizeof(call),
		.in_count = (int32_t)r->in_count,
		.weight_count = (int32_t)r->weight_count,
		.out_count = (int32_t)r->out_count,
		.scalar_count = (int32_t)r->scalar_count,
		.in = t,
		.weight = t + r->in_count + 1,
		.out = t + r->in_count + r->weight_count + 2,
		.scalar = tensors->scalar_now,
	};

	copy_afresh(tensors, with_data);
	return call;
}
