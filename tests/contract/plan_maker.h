/*
 * plan_maker.h - launch lists made by hand, for tests of drivers of two-part
 * programs. Every function adds to a plan that kf_plan_release can take.
 */
#ifndef KF_TESTS_PLAN_MAKER_H
#define KF_TESTS_PLAN_MAKER_H

#include "base/base.h"
#include "platform/plan.h"

/* Returns the buffer's number. */
static inline uint32_t plan_buffer(struct kf_plan *plan,
				   enum kf_plan_memory memory, uint32_t index,
				   uint64_t bytes)
{
	plan->buffer = kf_realloc(plan->buffer, (plan->buffer_count + 1) *
				  sizeof(plan->buffer[0]));
	plan->buffer[plan->buffer_count] = (struct kf_plan_buffer) {
		memory, index, bytes
	};
	return (uint32_t)plan->buffer_count++;
}

/* Valid until the next operation is added. */
static inline struct kf_plan_op *plan_op(struct kf_plan *plan,
					 enum kf_plan_op_kind kind)
{
	struct kf_plan_op *op;

	plan->op = kf_realloc(plan->op, (plan->op_count + 1) *
			      sizeof(plan->op[0]));
	op = &plan->op[plan->op_count++];
	*op = (struct kf_plan_op) { .kind = kind };
	return op;
}

static inline struct kf_plan_op *plan_launch(struct kf_plan *plan,
					     const char *kernel, int64_t grid,
					     int64_t group)
{
	struct kf_plan_op *op = plan_op(plan, KF_PLAN_LAUNCH);

	op->kernel = kf_strdup(kernel);
	for (int k = 0; k < 3; k++) {
		op->grid[k] = k ? 1 : grid;
		op->group[k] = k ? 1 : group;
	}
	return op;
}

static inline void plan_cluster(struct kf_plan_op *op, int64_t x)
{
	op->cluster[0] = x;
	op->cluster[1] = 1;
	op->cluster[2] = 1;
}

static inline struct kf_plan_arg *plan_arg(struct kf_plan_op *op,
					   enum kf_arg_kind kind,
					   uint32_t bytes)
{
	struct kf_plan_arg *arg;

	op->arg = kf_realloc(op->arg, (op->arg_count + 1) *
			     sizeof(op->arg[0]));
	arg = &op->arg[op->arg_count++];
	*arg = (struct kf_plan_arg) { .kind = kind, .bytes = bytes };
	return arg;
}

static inline void plan_arg_buffer(struct kf_plan_op *op, uint32_t buffer,
				   uint64_t offset)
{
	plan_arg(op, KF_ARG_BUFFER, 8)->place = (struct kf_plan_place) {
		buffer, offset
	};
}

static inline void plan_arg_int(struct kf_plan_op *op, int64_t value,
				uint32_t bytes)
{
	memcpy(plan_arg(op, KF_ARG_INT, bytes)->value, &value, bytes);
}

static inline void plan_arg_f32(struct kf_plan_op *op, float value)
{
	memcpy(plan_arg(op, KF_ARG_FLOAT, 4)->value, &value, sizeof(value));
}

static inline void plan_arg_bytes(struct kf_plan_op *op, const void *bytes,
				  uint32_t len)
{
	struct kf_plan_arg *arg = plan_arg(op, KF_ARG_BYTES, len);

	arg->data = kf_alloc(len);
	memcpy(arg->data, bytes, len);
}

static inline void plan_arg_map(struct kf_plan_op *op, uint32_t buffer,
				uint64_t offset,
				const struct kf_tensor_map *map)
{
	struct kf_plan_arg *arg = plan_arg(op, KF_ARG_TENSOR_MAP,
					   KF_PLAN_MAP_BYTES);

	arg->place = (struct kf_plan_place) { buffer, offset };
	arg->map = kf_alloc(sizeof(*arg->map));
	*arg->map = *map;
}

/* count elements of width bytes. */
static inline void plan_fill(struct kf_plan *plan, uint32_t buffer,
			     uint64_t offset, uint64_t value, uint32_t width,
			     uint64_t count)
{
	struct kf_plan_op *op = plan_op(plan, KF_PLAN_FILL);

	op->to = (struct kf_plan_place) { buffer, offset };
	op->value = value;
	op->width = width;
	op->bytes = count * width;
}

static inline void plan_copy(struct kf_plan *plan, uint32_t to,
			     uint64_t to_offset, uint32_t from,
			     uint64_t from_offset, uint64_t bytes)
{
	struct kf_plan_op *op = plan_op(plan, KF_PLAN_COPY);

	op->to = (struct kf_plan_place) { to, to_offset };
	op->from = (struct kf_plan_place) { from, from_offset };
	op->bytes = bytes;
}

#endif
