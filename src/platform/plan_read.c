/*
 * Bytes as plans. They come from a process that ran a candidate's code: no
 * number in them is believed, and what kf_plans_write would not have written
 * is refused.
 */
#include "platform/plan_bytes.h"

struct reader {
	const unsigned char *at;
	size_t left;
	char why[256];		/* the first thing that was wrong; "" if none */
};

static bool refuse(struct reader *r, const char *why)
{
	if (!r->why[0])
		snprintf(r->why, sizeof(r->why), "%s", why);
	r->left = 0;
	return false;
}

static const unsigned char *take(struct reader *r, size_t bytes)
{
	const unsigned char *at = r->at;

	if (bytes > r->left) {
		refuse(r, "it is cut off");
		return NULL;
	}
	r->at += bytes;
	r->left -= bytes;
	return at;
}

/* 0 beyond the end; the reader remembers. */
static uint64_t get(struct reader *r, unsigned bytes)
{
	const unsigned char *at = take(r, bytes);
	uint64_t value = 0;

	for (unsigned i = 0; at && i < bytes; i++)
		value |= (uint64_t)at[i] << (8 * i);
	return value;
}

static uint32_t get_u32(struct reader *r)
{
	return (uint32_t)get(r, 4);
}

static int64_t get_i64(struct reader *r)
{
	return (int64_t)get(r, 8);
}

/* A number of things of which each takes at least so many bytes. */
static size_t get_count(struct reader *r, size_t max, size_t least_bytes)
{
	uint32_t count = get_u32(r);

	if (count > max) {
		refuse(r, "it has more of something than it may");
		return 0;
	}
	if (count > r->left / least_bytes) {
		refuse(r, "it is cut off");
		return 0;
	}
	return count;
}

/* Printable ASCII, at most max bytes; "" and a refusal if not. out has room for
 * max + 1. */
static void get_text(struct reader *r, char *out, size_t max)
{
	size_t len = get_count(r, max, 1);
	const unsigned char *text = take(r, len);

	out[0] = '\0';
	for (size_t i = 0; text && i < len; i++)
		if (text[i] < 0x20 || text[i] > 0x7e) {
			refuse(r, "a text in it is not printable");
			return;
		}
	if (!text)
		return;
	memcpy(out, text, len);
	out[len] = '\0';
}

static struct kf_plan_place get_place(struct reader *r)
{
	struct kf_plan_place place = { .buffer = get_u32(r) };

	place.offset = get(r, 8);
	return place;
}

static void get_map(struct reader *r, struct kf_plan_arg *arg)
{
	struct kf_tensor_map *map = kf_alloc(sizeof(*map));
	int32_t *number[KF_PLAN_MAP_NUMBERS];

	arg->map = map;
	arg->place = get_place(r);
	map->size = sizeof(*map);
	kf_plan_map_numbers(map, number);
	for (size_t i = 0; i < KF_PLAN_MAP_NUMBERS; i++)
		*number[i] = (int32_t)get_u32(r);
	for (int i = 0; i < map->rank && i < 5; i++) {
		map->dim[i] = get_i64(r);
		map->stride[i] = get_i64(r);
		map->box[i] = (int32_t)get_u32(r);
		map->element_stride[i] = (int32_t)get_u32(r);
	}
	if (map->stride[0])
		refuse(r, "a tensor map has a stride that is not used");
}

static void get_bytes(struct reader *r, void *out, size_t bytes)
{
	const unsigned char *at = take(r, bytes);

	if (at)
		memcpy(out, at, bytes);
}

static void get_arg(struct reader *r, struct kf_plan_arg *arg)
{
	arg->kind = (enum kf_arg_kind)get_u32(r);
	arg->bytes = get_u32(r);
	switch (arg->kind) {
	case KF_ARG_BUFFER:
		arg->place = get_place(r);
		break;
	case KF_ARG_INT:
	case KF_ARG_FLOAT:
		if (arg->bytes <= sizeof(arg->value))
			get_bytes(r, arg->value, arg->bytes);
		break;
	case KF_ARG_BYTES:
		if (arg->bytes > KF_PLAN_STRUCT_MAX)
			break;
		arg->data = kf_alloc(arg->bytes);
		get_bytes(r, arg->data, arg->bytes);
		break;
	case KF_ARG_TENSOR_MAP:
		get_map(r, arg);
		break;
	case KF_ARG_LOCAL:
	case KF_ARG_NONE:
		break;
	}
	/* Kinds and sizes that cannot be are kf_plan_op_check's. */
}

static void get_launch(struct reader *r, struct kf_plan_op *op)
{
	char name[KF_PLAN_NAME_MAX + 1];
	uint32_t flags;
	size_t count;

	get_text(r, name, KF_PLAN_NAME_MAX);
	op->kernel = kf_strdup(name);
	for (int i = 0; i < 3; i++)
		op->grid[i] = get_i64(r);
	for (int i = 0; i < 3; i++)
		op->group[i] = get_i64(r);
	for (int i = 0; i < 3; i++)
		op->cluster[i] = get_i64(r);
	op->shared_bytes = get_i64(r);
	flags = get_u32(r);
	if (flags & ~(uint32_t)(KF_PLAN_COOPERATIVE | KF_PLAN_DEPENDENT))
		refuse(r, "a launch has options that there are not");
	op->cooperative = flags & KF_PLAN_COOPERATIVE;
	op->dependent = flags & KF_PLAN_DEPENDENT;
	count = get_count(r, KF_PLAN_ARGS_MAX, 8);
	op->arg = kf_alloc(count * sizeof(op->arg[0]));
	op->arg_count = count;
	for (size_t i = 0; i < count; i++)
		get_arg(r, &op->arg[i]);
}

static void get_op(struct reader *r, struct kf_plan_op *op)
{
	op->kind = (enum kf_plan_op_kind)get_u32(r);
	if (op->kind == KF_PLAN_LAUNCH) {
		get_launch(r, op);
		return;
	}
	op->to = get_place(r);
	if (op->kind == KF_PLAN_FILL) {
		op->value = get(r, 8);
		op->width = get_u32(r);
		if (op->width < 8 && op->value >> (8 * op->width))
			refuse(r, "a fill's value is wider than its elements");
	} else {
		op->from = get_place(r);
	}
	op->bytes = get(r, 8);
}

static bool same_buffer(const struct kf_plan_buffer *a,
			const struct kf_plan_buffer *b)
{
	return a->memory == b->memory && a->index == b->index;
}

static bool buffer_is_right(const struct kf_plan *plan, size_t number,
			    bool preparing)
{
	const struct kf_plan_buffer *b = &plan->buffer[number];

	if (b->memory < KF_PLAN_IN || b->memory > KF_PLAN_KEEP ||
	    (b->memory == KF_PLAN_KEEP && b->index >= KF_PLAN_SLOTS) ||
	    (preparing && (b->memory == KF_PLAN_IN ||
			   b->memory == KF_PLAN_OUT)))
		return false;
	for (size_t i = 0; i < number; i++)
		if (same_buffer(&plan->buffer[i], b))
			return false;
	return true;
}

static void get_buffers(struct reader *r, struct kf_plan *plan,
			bool preparing)
{
	size_t count = get_count(r, KF_PLAN_BUFFERS_MAX, 16);

	plan->buffer = kf_alloc(count * sizeof(plan->buffer[0]));
	for (size_t i = 0; i < count && !r->why[0]; i++) {
		struct kf_plan_buffer *b = &plan->buffer[plan->buffer_count++];

		b->memory = (enum kf_plan_memory)get_u32(r);
		b->index = get_u32(r);
		b->bytes = get(r, 8);
		if (!buffer_is_right(plan, i, preparing))
			refuse(r, "a buffer in it cannot be");
	}
}

static void get_plan(struct reader *r, struct kf_plan *plan, bool preparing)
{
	char why[256];
	size_t count;

	plan->rc = (int32_t)get_u32(r);
	get_text(r, plan->mistake, sizeof(plan->mistake) - 1);
	get_buffers(r, plan, preparing);
	count = get_count(r, KF_PLAN_OPS_MAX, 36);
	plan->op = kf_alloc(count * sizeof(plan->op[0]));
	for (size_t i = 0; i < count && !r->why[0]; i++) {
		plan->op_count++;
		get_op(r, &plan->op[i]);
		if (!r->why[0] && !kf_plan_op_check(plan, i, preparing, why))
			refuse(r, why);
	}
}

/* What kf_forward reads of kept memory is what kf_prepare made. */
static void check_kept(struct reader *r, const struct kf_plans *plans)
{
	const struct kf_plan *made = &plans->prepare, *used = &plans->forward;

	for (size_t i = 0; i < used->buffer_count; i++) {
		const struct kf_plan_buffer *b = &used->buffer[i];
		bool found = b->memory != KF_PLAN_KEEP;

		for (size_t k = 0; k < made->buffer_count && !found; k++)
			found = same_buffer(&made->buffer[k], b) &&
				made->buffer[k].bytes == b->bytes;
		if (!found)
			refuse(r, "kf_forward has kept memory that kf_prepare "
			       "did not make");
	}
}

enum kf_code kf_plans_read(const void *bytes, size_t len, struct kf_plans *out,
			   struct kf_err *err)
{
	struct reader r = { .at = bytes, .left = len };
	uint32_t has_prepare;

	*out = (struct kf_plans) { 0 };
	if (len > KF_PLAN_BYTES_MAX)
		return kf_fail(err, KF_E_INPUT, "a launch list has %zu bytes; "
			       "at most %u are read", len, KF_PLAN_BYTES_MAX);
	if (get_u32(&r) != KF_PLAN_MAGIC)
		refuse(&r, "it is none");
	if (get_u32(&r) != KF_PLAN_VERSION)
		refuse(&r, "it is of another version");
	has_prepare = get_u32(&r);
	if (has_prepare > 1)
		refuse(&r, "it cannot be told whether there is a kf_prepare");
	out->has_prepare = has_prepare == 1;
	if (out->has_prepare)
		get_plan(&r, &out->prepare, true);
	if (!r.why[0])
		get_plan(&r, &out->forward, false);
	if (!r.why[0])
		check_kept(&r, out);
	if (r.left)
		refuse(&r, "something follows its end");
	if (!r.why[0])
		return KF_OK;
	kf_plans_release(out);
	return kf_fail(err, KF_E_INPUT, "a launch list cannot be read: %s",
		       r.why);
}
