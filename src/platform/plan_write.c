/*
 * Plans as bytes. Everything is little-endian and stands one after the other:
 *
 *	plans	u32 magic, u32 version, u32 has_prepare, [prepare], forward
 *	plan	i32 rc, text mistake, u32 count, buffers, u32 count, operations
 *	buffer	u32 memory, u32 index, u64 bytes
 *	op	u32 kind, and
 *		LAUNCH	text kernel, i64 grid[3], group[3], cluster[3], shared,
 *			u32 flags, u32 count, arguments
 *		FILL	place, u64 value, u32 width, u64 bytes
 *		COPY	place to, place from, u64 bytes
 *	arg	u32 kind, u32 bytes, and
 *		BUFFER place; INT, FLOAT, BYTES: so many bytes; LOCAL: nothing
 *		TENSOR_MAP place, i32 numbers, i64 dim and stride of each, i32
 *			box and element_stride of each
 *	place	u32 buffer, u64 offset
 *	text	u32 bytes, the bytes
 */
#include "platform/plan_bytes.h"

/* A tensor map's simple numbers, in the order of the file. */
void kf_plan_map_numbers(struct kf_tensor_map *map,
			 int32_t *number[KF_PLAN_MAP_NUMBERS])
{
	int32_t *const list[KF_PLAN_MAP_NUMBERS] = {
		&map->dtype, &map->rank, &map->interleave, &map->swizzle,
		&map->l2_promotion, &map->oob_fill,
	};

	memcpy(number, list, sizeof(list));
}

static void put(struct kf_buf *out, uint64_t value, unsigned bytes)
{
	unsigned char byte[8];

	for (unsigned i = 0; i < bytes; i++)
		byte[i] = (unsigned char)(value >> (8 * i));
	kf_buf_add(out, byte, bytes);
}

static void put_u32(struct kf_buf *out, uint32_t value)
{
	put(out, value, 4);
}

static void put_i64(struct kf_buf *out, int64_t value)
{
	put(out, (uint64_t)value, 8);
}

static void put_text(struct kf_buf *out, const char *text)
{
	size_t len = strlen(text);

	put_u32(out, (uint32_t)len);
	kf_buf_add(out, text, len);
}

static void put_place(struct kf_buf *out, const struct kf_plan_place *place)
{
	put_u32(out, place->buffer);
	put(out, place->offset, 8);
}

static void put_map(struct kf_buf *out, const struct kf_tensor_map *map)
{
	struct kf_tensor_map m = *map;
	int32_t *number[KF_PLAN_MAP_NUMBERS];

	kf_plan_map_numbers(&m, number);
	for (size_t i = 0; i < KF_PLAN_MAP_NUMBERS; i++)
		put_u32(out, (uint32_t)*number[i]);
	for (int i = 0; i < m.rank; i++) {
		put_i64(out, m.dim[i]);
		put_i64(out, i ? m.stride[i] : 0);
		put_u32(out, (uint32_t)m.box[i]);
		put_u32(out, (uint32_t)m.element_stride[i]);
	}
}

static void put_arg(struct kf_buf *out, const struct kf_plan_arg *arg)
{
	put_u32(out, (uint32_t)arg->kind);
	put_u32(out, arg->bytes);
	switch (arg->kind) {
	case KF_ARG_BUFFER:
		put_place(out, &arg->place);
		break;
	case KF_ARG_INT:
	case KF_ARG_FLOAT:
		kf_buf_add(out, arg->value, arg->bytes);
		break;
	case KF_ARG_BYTES:
		kf_buf_add(out, arg->data, arg->bytes);
		break;
	case KF_ARG_TENSOR_MAP:
		put_place(out, &arg->place);
		put_map(out, arg->map);
		break;
	case KF_ARG_LOCAL:
	case KF_ARG_NONE:
		break;
	}
}

static void put_launch(struct kf_buf *out, const struct kf_plan_op *op)
{
	put_text(out, op->kernel);
	for (int i = 0; i < 3; i++)
		put_i64(out, op->grid[i]);
	for (int i = 0; i < 3; i++)
		put_i64(out, op->group[i]);
	for (int i = 0; i < 3; i++)
		put_i64(out, op->cluster[i]);
	put_i64(out, op->shared_bytes);
	put_u32(out, (op->cooperative ? KF_PLAN_COOPERATIVE : 0) |
		(op->dependent ? KF_PLAN_DEPENDENT : 0));
	put_u32(out, (uint32_t)op->arg_count);
	for (size_t i = 0; i < op->arg_count; i++)
		put_arg(out, &op->arg[i]);
}

void kf_plan_op_write(const struct kf_plan_op *op, struct kf_buf *out)
{
	put_u32(out, (uint32_t)op->kind);
	if (op->kind == KF_PLAN_LAUNCH) {
		put_launch(out, op);
		return;
	}
	put_place(out, &op->to);
	if (op->kind == KF_PLAN_FILL) {
		put(out, op->value, 8);
		put_u32(out, op->width);
	} else {
		put_place(out, &op->from);
	}
	put(out, op->bytes, 8);
}

static void put_plan(struct kf_buf *out, const struct kf_plan *plan)
{
	put_u32(out, (uint32_t)plan->rc);
	put_text(out, plan->mistake);
	put_u32(out, (uint32_t)plan->buffer_count);
	for (size_t i = 0; i < plan->buffer_count; i++) {
		put_u32(out, (uint32_t)plan->buffer[i].memory);
		put_u32(out, plan->buffer[i].index);
		put(out, plan->buffer[i].bytes, 8);
	}
	put_u32(out, (uint32_t)plan->op_count);
	for (size_t i = 0; i < plan->op_count; i++)
		kf_plan_op_write(&plan->op[i], out);
}

void kf_plans_write(const struct kf_plans *plans, struct kf_buf *out)
{
	put_u32(out, KF_PLAN_MAGIC);
	put_u32(out, KF_PLAN_VERSION);
	put_u32(out, plans->has_prepare);
	if (plans->has_prepare)
		put_plan(out, &plans->prepare);
	put_plan(out, &plans->forward);
}
