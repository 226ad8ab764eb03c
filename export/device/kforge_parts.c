/*
 * A two-part program on its device: host.c is called for every call, and what
 * it launches is handed on. Tensors have their copies on the device; scratch of
 * the first call stays for those that follow.
 */
#include <stdlib.h>
#include <string.h>

#include "kforge_device.h"
#include "kforge_runtime.h"

#define SLOTS 16

struct block { void *at; size_t bytes; };

struct kforge_parts {
	const struct kforge_program *program;
	struct kforge_device *device;
	/* Inputs, weights, outputs: their device memory, and as a call gets
	 * them. */
	void **at;
	struct kf_tensor *tensor;
	struct block kept[SLOTS];
	struct block *temp;
	int temp_count, temp_used, preparing;
	const char *words;
};

static int tensor_count(const struct kforge_program *p)
{
	return p->in_count + p->weight_count + p->out_count;
}

/* --- memory that programs ask for ----------------------------------------- */

/* The how-manieth scratch of a call is the same every time. */
static void *give_temp(struct kf_call *c, size_t bytes)
{
	struct kforge_parts *x = c->owner;
	struct block *more, *b;

	if (x->temp_used == x->temp_count) {
		more = realloc(x->temp, ((size_t)x->temp_count + 1) *
			       sizeof(*more));
		if (!more)
			return NULL;
		x->temp = more;
		x->temp[x->temp_count++] = (struct block) { NULL, 0 };
	}
	b = &x->temp[x->temp_used];
	if (b->at && b->bytes < bytes) {
		kforge_device_free(x->device, b->at);
		b->at = NULL;
	}
	if (!b->at) {
		b->at = kforge_device_allocate(x->device, bytes);
		b->bytes = bytes;
	}
	if (b->at)
		x->temp_used++;
	else
		x->words = "the device has no memory for the scratch of a call";
	return b->at;
}

static void *give_keep(struct kf_call *c, int slot, size_t bytes)
{
	struct kforge_parts *x = c->owner;
	struct block *b;

	if (slot < 0 || slot >= SLOTS)
		return NULL;
	b = &x->kept[slot];
	if (!b->at && x->preparing) {
		b->at = kforge_device_allocate(x->device, bytes);
		b->bytes = bytes;
		if (!b->at)
			x->words = "the device has no memory for what is kept";
		else if (kforge_device_fill(x->device, b->at, 0, 1,
					    (int64_t)bytes))
			return NULL;
	}
	return bytes <= b->bytes ? b->at : NULL;
}

static void drop_temps(struct kforge_parts *x)
{
	int i;

	for (i = 0; i < x->temp_count; i++)
		if (x->temp[i].at)
			kforge_device_free(x->device, x->temp[i].at);
	free(x->temp);
	x->temp = NULL;
	x->temp_count = 0;
}

static void drop_kept(struct kforge_parts *x)
{
	int i;

	for (i = 0; i < SLOTS; i++)
		if (x->kept[i].at)
			kforge_device_free(x->device, x->kept[i].at);
	memset(x->kept, 0, sizeof(x->kept));
}

/* --- the launch table ----------------------------------------------------- */

static int launch(struct kf_call *c, const struct kf_launch *l)
{
	struct kforge_parts *x = c->owner;

	return kforge_device_launch(x->device, l);
}

static int fill(struct kf_call *c, const void *to, uint64_t value, int width,
		int64_t count)
{
	struct kforge_parts *x = c->owner;

	return count > 0 ? kforge_device_fill(x->device, to, value, width,
					      count) : 0;
}

static int copy(struct kf_call *c, const void *to, const void *from,
		int64_t bytes)
{
	struct kforge_parts *x = c->owner;

	return bytes > 0 ? kforge_device_copy(x->device, to, from, bytes) : 0;
}

static const struct kf_launch_table table = {
	.size = sizeof(table), .launch = launch, .fill = fill, .copy = copy,
};

/* --- calls ---------------------------------------------------------------- */

/* Host memory of count tensors from number first on to the device. */
static int upload(struct kforge_parts *x, const struct kf_tensor *from,
		  const struct kforge_tensor_spec *spec, int first, int count)
{
	int i;

	for (i = 0; i < count; i++)
		if (spec[i].bytes && kforge_device_write(x->device,
				x->at[first + i], from[i].data, spec[i].bytes))
			return 1;
	return 0;
}

static int download(struct kforge_parts *x, const struct kf_tensor *to)
{
	const struct kforge_program *p = x->program;
	void **at = x->at + p->in_count + p->weight_count;
	int i;

	for (i = 0; i < p->out_count; i++)
		if (p->out[i].bytes && kforge_device_read(x->device, to[i].data,
				at[i], p->out[i].bytes))
			return 1;
	return 0;
}

/* With the caller's queue its memory is the device's already. */
static void place_tensors(struct kforge_parts *x, const struct kf_call *call,
			  int with_data)
{
	const struct kforge_program *p = x->program;
	struct kf_tensor *t = x->tensor;
	int i, own = !call->queue, count = tensor_count(p);

	memcpy(t, call->in, (size_t)count * sizeof(*t));
	for (i = 0; i < count; i++) {
		int weight = i >= p->in_count &&
			     i < p->in_count + p->weight_count;

		if (own || weight)
			t[i].data = with_data || weight ? x->at[i] : NULL;
	}
}

static int call_program(struct kforge_parts *x,
			int (*function)(struct kf_call *c),
			const struct kf_call *outer, int with_data)
{
	const struct kforge_program *p = x->program;
	struct kf_call call = *outer;

	place_tensors(x, outer, with_data);
	call.in = x->tensor;
	call.weight = x->tensor + p->in_count;
	call.out = call.weight + p->weight_count;
	call.temp = give_temp;
	call.keep = give_keep;
	call.owner = x;
	call.launch = &table;
	x->temp_used = 0;
	x->preparing = !with_data;
	return function(&call);
}

static int run(struct kforge_parts *x, int (*function)(struct kf_call *c),
	       const struct kf_call *call, int with_data)
{
	const struct kforge_program *p = x->program;
	int rc, own = !call->queue;

	x->words = NULL;
	if (kforge_device_queue(x->device, call->queue))
		return 1;
	if (own && with_data && upload(x, call->in, p->in, 0, p->in_count))
		return 1;
	rc = call_program(x, function, call, with_data);
	if (!rc && own)
		rc = with_data ? download(x, call->out)
			       : kforge_device_finish(x->device);
	return rc;
}

static int set_weights(struct kforge_parts *x, const struct kf_tensor *weight)
{
	const struct kforge_program *p = x->program;

	x->words = NULL;
	drop_kept(x);
	if (kforge_device_queue(x->device, NULL) ||
	    upload(x, weight, p->weight, p->in_count, p->weight_count))
		return 1;
	return kforge_device_finish(x->device);
}

static const char *words(const struct kforge_parts *x)
{
	return x->words ? x->words : kforge_device_words(x->device);
}

/* --- making and freeing --------------------------------------------------- */

static void free_parts(struct kforge_parts *x)
{
	int i;

	if (!x)
		return;
	if (x->device) {
		(void)kforge_device_finish(x->device);
		drop_kept(x);
		drop_temps(x);
		for (i = 0; x->at && i < tensor_count(x->program); i++)
			if (x->at[i])
				kforge_device_free(x->device, x->at[i]);
	}
	kforge_device_close(x->device);
	free(x->at);
	free(x->tensor);
	free(x);
}

static const struct kforge_tensor_spec *spec_of(const struct kforge_program *p,
						int i)
{
	if (i < p->in_count)
		return &p->in[i];
	i -= p->in_count;
	return i < p->weight_count ? &p->weight[i]
				   : &p->out[i - p->weight_count];
}

static int make_tensors(struct kforge_parts *x)
{
	int i, count = tensor_count(x->program);

	x->at = calloc((size_t)count + 1, sizeof(*x->at));
	x->tensor = calloc((size_t)count + 1, sizeof(*x->tensor));
	if (!x->at || !x->tensor)
		return 1;
	for (i = 0; i < count; i++) {
		const struct kforge_tensor_spec *s = spec_of(x->program, i);

		if (!s->dtype)
			continue;
		x->at[i] = kforge_device_allocate(x->device, s->bytes);
		if (!x->at[i])
			return 1;
	}
	return 0;
}

static int new_parts(const struct kforge_program *program,
		     struct kforge_parts **out, char text[KFORGE_WORDS])
{
	struct kforge_parts *x = calloc(1, sizeof(*x));

	*out = NULL;
	if (!x)
		return KFORGE_E_MEMORY;
	x->program = program;
	if (kforge_device_open(&x->device, text)) {
		free_parts(x);
		return KFORGE_E_LAUNCH;
	}
	if (make_tensors(x)) {
		free_parts(x);
		return KFORGE_E_MEMORY;
	}
	*out = x;
	return KFORGE_OK;
}

const struct kforge_parts_table kforge_parts = {
	.new_parts = new_parts,
	.set_weights = set_weights,
	.run = run,
	.words = words,
	.free_parts = free_parts,
};
