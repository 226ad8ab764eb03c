/* Where tensors, scratch and what is kept lie in a device's memory. */
#include "platform/twopart.h"

/* --- tensors -------------------------------------------------------------- */

struct span { const void *start; uint64_t bytes; };

static enum kf_code find_list(const struct kf_tensor *t, int32_t count,
			      const struct span *shared, uint64_t alignment,
			      uint64_t **offsets, const uint64_t **sizes,
			      struct kf_err *err)
{
	uint64_t *at = kf_alloc((size_t)count * sizeof(at[0]));
	uint64_t *size = kf_alloc((size_t)count * sizeof(size[0]));

	*offsets = at;
	*sizes = size;
	for (int32_t i = 0; i < count; i++) {
		at[i] = UINT64_MAX;
		if (t[i].dtype == KF_DTYPE_NONE)
			continue;
		size[i] = (uint64_t)kf_numel(&t[i]) *
			  kf_dtype_bytes((enum kf_dtype)t[i].dtype);
		at[i] = (uint64_t)((uintptr_t)t[i].data -
				   (uintptr_t)shared->start);
		if (at[i] > shared->bytes ||
		    size[i] > shared->bytes - at[i])
			return kf_fail(err, KF_E_INPUT, "a tensor lies outside "
				       "the shared memory");
		if (at[i] % alignment)
			return kf_fail(err, KF_E_UNAVAIL, "this device wants "
				       "memory that begins at multiples of "
				       "%llu bytes, and tensors do not; use "
				       "another device",
				       (unsigned long long)alignment);
	}
	return KF_OK;
}

enum kf_code kf_twopart_find_tensors(const struct kf_shared_memory *m,
				     const struct kf_call *tensors,
				     uint64_t alignment,
				     struct kf_twopart_tensors *out,
				     struct kf_err *err)
{
	const struct span in = { m->inputs, m->inputs_bytes };
	const struct span result = { m->outputs, m->outputs_bytes };
	struct kf_plan_tensors *b = &out->bytes;
	enum kf_code code;

	*out = (struct kf_twopart_tensors) {
		.inputs_bytes = m->inputs_bytes,
		.outputs_bytes = m->outputs_bytes,
		.weights_from = m->inputs_bytes,
	};
	code = find_list(tensors->in, tensors->in_count, &in, alignment,
			 &out->in, &b->in_bytes, err);
	if (!code)
		code = find_list(tensors->weight, tensors->weight_count, &in,
				 alignment, &out->weight, &b->weight_bytes,
				 err);
	if (!code)
		code = find_list(tensors->out, tensors->out_count, &result,
				 alignment, &out->out, &b->out_bytes, err);
	if (code)
		return code;
	b->in_count = (size_t)tensors->in_count;
	b->weight_count = (size_t)tensors->weight_count;
	b->out_count = (size_t)tensors->out_count;
	for (size_t i = 0; i < b->weight_count; i++)
		if (out->weight[i] < out->weights_from)
			out->weights_from = out->weight[i];
	return KF_OK;
}

void kf_twopart_tensors_release(struct kf_twopart_tensors *t)
{
	free((void *)(uintptr_t)t->bytes.in_bytes);
	free((void *)(uintptr_t)t->bytes.weight_bytes);
	free((void *)(uintptr_t)t->bytes.out_bytes);
	free(t->in);
	free(t->weight);
	free(t->out);
	*t = (struct kf_twopart_tensors) { 0 };
}

/* --- blocks --------------------------------------------------------------- */

uint64_t kf_twopart_blocks_end(const struct kf_twopart_blocks *list)
{
	return list->count ? list->block[list->count - 1].guard_end : 0;
}

const struct kf_twopart_block *
kf_twopart_add_block(struct kf_twopart_blocks *list, uint64_t from,
		     uint64_t bytes, uint32_t index, uint64_t alignment)
{
	struct kf_twopart_block *b;

	list->block = kf_realloc(list->block, (list->count + 1) *
				 sizeof(list->block[0]));
	b = &list->block[list->count++];
	*b = (struct kf_twopart_block) {
		.offset = from,
		.bytes = bytes,
		.guard_end = kf_twopart_rounded(from + bytes +
						KF_TWOPART_GUARD, alignment),
		.index = index,
	};
	return b;
}

/* Behind what is there. */
static const struct kf_twopart_block *
add_block(struct kf_twopart_blocks *list, uint64_t bytes, uint32_t index,
	  uint64_t alignment)
{
	return kf_twopart_add_block(list, kf_twopart_blocks_end(list), bytes,
				    index, alignment);
}

/* One layout being made. */
struct maker {
	const struct kf_twopart_tensors *tensors;
	struct kf_twopart_layout *out;
	uint64_t alignment;
	uint64_t slot_at[KF_PLAN_SLOTS];	/* UINT64_MAX: not there */
};

/* kf_prepare's first buffer of a slot makes it; kf_plans_read has seen to it
 * that kf_forward's are not larger. */
static struct kf_twopart_place place_kept(struct maker *m,
					  const struct kf_plan_buffer *b)
{
	uint64_t *at = &m->slot_at[b->index];

	if (*at == UINT64_MAX)
		*at = add_block(&m->out->kept, b->bytes, b->index,
				m->alignment)->offset;
	return (struct kf_twopart_place) { KF_TWOPART_KEPT, *at, b->bytes };
}

/* kf_plans_check has seen to it that there is such a tensor. */
static struct kf_twopart_place tensor_place(const struct maker *m,
					    const struct kf_plan_buffer *b)
{
	const struct kf_twopart_tensors *t = m->tensors;
	struct kf_twopart_place place = { KF_TWOPART_INPUTS, 0, b->bytes };

	if (b->memory == KF_PLAN_OUT) {
		place.arena = KF_TWOPART_OUTPUTS;
		place.offset = t->out[b->index];
	} else {
		place.offset = b->memory == KF_PLAN_IN ? t->in[b->index]
						       : t->weight[b->index];
	}
	return place;
}

static struct kf_twopart_place *lay_out_plan(struct maker *m,
					     const struct kf_plan *plan,
					     struct kf_twopart_blocks *temps)
{
	struct kf_twopart_place *place;

	place = kf_alloc(plan->buffer_count * sizeof(place[0]));
	add_block(temps, 0, 0, m->alignment);
	for (size_t i = 0; i < plan->buffer_count; i++) {
		const struct kf_plan_buffer *b = &plan->buffer[i];

		if (b->memory == KF_PLAN_KEEP)
			place[i] = place_kept(m, b);
		else if (b->memory == KF_PLAN_TEMP)
			place[i] = (struct kf_twopart_place) {
				KF_TWOPART_SCRATCH,
				add_block(temps, b->bytes, b->index,
					  m->alignment)->offset,
				b->bytes
			};
		else
			place[i] = tensor_place(m, b);
	}
	return place;
}

bool kf_twopart_lay_out(const struct kf_plans *plans,
			const struct kf_twopart_tensors *tensors,
			uint64_t alignment, uint64_t memory_max,
			struct kf_twopart_layout *out, char why[256])
{
	struct kf_plan_tensors limits = tensors->bytes;
	struct maker m = { tensors, out, alignment, { 0 } };
	uint64_t *bytes = out->arena_bytes, prepare_bytes, forward_bytes;

	*out = (struct kf_twopart_layout) { 0 };
	limits.memory_max = memory_max;
	if (!kf_plans_check(plans, &limits, why))
		return false;
	memset(m.slot_at, 0xff, sizeof(m.slot_at));
	add_block(&out->kept, 0, 0, alignment);
	if (plans->has_prepare)
		out->prepare = lay_out_plan(&m, &plans->prepare,
					    &out->prepare_temp);
	out->forward = lay_out_plan(&m, &plans->forward, &out->forward_temp);
	prepare_bytes = kf_twopart_blocks_end(&out->prepare_temp);
	forward_bytes = kf_twopart_blocks_end(&out->forward_temp);
	bytes[KF_TWOPART_INPUTS] = tensors->inputs_bytes;
	bytes[KF_TWOPART_OUTPUTS] = tensors->outputs_bytes;
	bytes[KF_TWOPART_KEPT] = kf_twopart_blocks_end(&out->kept);
	bytes[KF_TWOPART_SCRATCH] = prepare_bytes > forward_bytes ?
				    prepare_bytes : forward_bytes;
	return true;
}

void kf_twopart_layout_release(struct kf_twopart_layout *layout)
{
	free(layout->prepare);
	free(layout->forward);
	free(layout->kept.block);
	free(layout->prepare_temp.block);
	free(layout->forward_temp.block);
	*layout = (struct kf_twopart_layout) { 0 };
}

/* --- room ----------------------------------------------------------------- */

#define OWN_PART	64u	/* of a device's memory: what it keeps itself */

bool kf_twopart_fits(const struct kf_twopart_layout *layout,
		     const struct kf_twopart_room *room, char why[256])
{
	const uint64_t *arena = layout->arena_bytes;
	uint64_t asked = arena[KF_TWOPART_SCRATCH] + arena[KF_TWOPART_KEPT];
	uint64_t taken = arena[KF_TWOPART_INPUTS] + arena[KF_TWOPART_OUTPUTS] +
			 room->ours_bytes;
	uint64_t own = room->bytes / OWN_PART;
	uint64_t larger = arena[KF_TWOPART_SCRATCH];

	if (arena[KF_TWOPART_KEPT] > larger)
		larger = arena[KF_TWOPART_KEPT];
	if (taken > room->bytes - own || asked > room->bytes - own - taken) {
		snprintf(why, 256, "kf_temp and kf_keep ask for %llu MiB; "
			 "%.80s has %llu MiB, of which inputs, outputs and the "
			 "device itself take %llu: use less of them",
			 (unsigned long long)(asked >> 20), room->device,
			 (unsigned long long)(room->bytes >> 20),
			 (unsigned long long)((taken + own) >> 20));
		return false;
	}
	if (!room->piece_bytes || larger <= room->piece_bytes)
		return true;
	snprintf(why, 256, "kf_temp or kf_keep ask for %llu MiB; %.80s gives "
		 "%llu MiB in one piece: use less of them",
		 (unsigned long long)(larger >> 20), room->device,
		 (unsigned long long)(room->piece_bytes >> 20));
	return false;
}

/* --- guards --------------------------------------------------------------- */

uint64_t kf_twopart_guard_changed(const unsigned char *bytes, uint64_t place,
				  uint64_t len)
{
	static const unsigned char pattern[2] = {
		KF_TWOPART_GUARD_PATTERN & 0xff, KF_TWOPART_GUARD_PATTERN >> 8,
	};
	uint64_t at = 0;

	while (at < len && bytes[at] == pattern[(place + at) % 2])
		at++;
	return at;
}

void kf_twopart_guard_words(enum kf_twopart_arena arena,
			    const struct kf_twopart_blocks *blocks,
			    size_t block, uint64_t at, char text[256])
{
	const struct kf_twopart_block *b = &blocks->block[block];
	enum kf_plan_memory memory = arena == KF_TWOPART_KEPT ? KF_PLAN_KEEP
							      : KF_PLAN_TEMP;
	char name[32];

	kf_plan_buffer_name(memory, b->index, name);
	if (block == 0)
		snprintf(text, 256, "a kernel wrote in front of the first "
			 "block of %.7s", name);
	else
		snprintf(text, 256, "a kernel wrote %llu bytes behind the end "
			 "of %s, which has %llu bytes",
			 (unsigned long long)at, name,
			 (unsigned long long)b->bytes);
}
