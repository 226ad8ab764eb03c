/* Plans for the record and for people. Not in the runner, which has no JSON. */
#include "base/json.h"
#include "platform/plan.h"

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static void set_int(json_t *object, const char *key, uint64_t value)
{
	set(object, key, json_integer((json_int_t)value));
}

static json_t *dims(const int64_t dim[3])
{
	return json_pack("[I, I, I]", (json_int_t)dim[0], (json_int_t)dim[1],
			 (json_int_t)dim[2]);
}

/* {"buffer": "input 0", "offset": 256}; without an offset of 0. */
static json_t *place(const struct kf_plan *plan, const struct kf_plan_place *at)
{
	const struct kf_plan_buffer *b = &plan->buffer[at->buffer];
	json_t *object = json_object();
	char name[32];

	kf_plan_buffer_name(b->memory, b->index, name);
	set(object, "buffer", json_string(name));
	if (at->offset)
		set_int(object, "offset", at->offset);
	return object;
}

/* Sign-extended: 0xffffffff was most likely a -1. */
static json_t *integer(const struct kf_plan_arg *arg)
{
	json_t *object = json_object();
	uint64_t value = 0, sign = UINT64_C(1) << (8 * arg->bytes - 1);

	for (uint32_t i = 0; i < arg->bytes; i++)
		value |= (uint64_t)arg->value[i] << (8 * i);
	set_int(object, "int", (value ^ sign) - sign);
	set_int(object, "bytes", arg->bytes);
	return object;
}

static json_t *real(const struct kf_plan_arg *arg)
{
	json_t *object = json_object();
	double value;
	float narrow;

	if (arg->bytes == sizeof(narrow)) {
		memcpy(&narrow, arg->value, sizeof(narrow));
		value = (double)narrow;
	} else {
		memcpy(&value, arg->value, sizeof(value));
	}
	set(object, "float", kf_json_number(value));
	set_int(object, "bytes", arg->bytes);
	return object;
}

static json_t *map(const struct kf_plan *plan, const struct kf_plan_arg *arg)
{
	const struct kf_tensor_map *m = arg->map;
	json_t *object = place(plan, &arg->place);
	json_t *extent = json_array(), *box = json_array();

	for (int i = 0; i < m->rank; i++) {
		json_array_append_new(extent, json_integer(m->dim[i]));
		json_array_append_new(box, json_integer(m->box[i]));
	}
	set(object, "map", extent);
	set(object, "box", box);
	set(object, "dtype",
	    json_string(kf_dtype_name((enum kf_dtype)m->dtype)));
	set(object, "swizzle", json_integer(m->swizzle));
	return object;
}

static json_t *argument(const struct kf_plan *plan,
			const struct kf_plan_arg *arg)
{
	switch (arg->kind) {
	case KF_ARG_BUFFER:
		return place(plan, &arg->place);
	case KF_ARG_INT:
		return integer(arg);
	case KF_ARG_FLOAT:
		return real(arg);
	case KF_ARG_BYTES:
		return json_pack("{s: I}", "struct_bytes",
				 (json_int_t)arg->bytes);
	case KF_ARG_LOCAL:
		return json_pack("{s: I}", "local_bytes",
				 (json_int_t)arg->bytes);
	case KF_ARG_TENSOR_MAP:
		return map(plan, arg);
	case KF_ARG_NONE:
		break;
	}
	return json_null();
}

static json_t *launch(const struct kf_plan *plan, const struct kf_plan_op *op)
{
	json_t *object = json_object(), *args = json_array();

	set(object, "launch", json_string(op->kernel));
	set(object, "grid", dims(op->grid));
	set(object, "group", dims(op->group));
	if (op->cluster[0])
		set(object, "cluster", dims(op->cluster));
	if (op->shared_bytes)
		set(object, "shared_bytes", json_integer(op->shared_bytes));
	if (op->cooperative)
		set(object, "cooperative", json_true());
	if (op->dependent)
		set(object, "dependent", json_true());
	for (size_t i = 0; i < op->arg_count; i++)
		json_array_append_new(args, argument(plan, &op->arg[i]));
	set(object, "args", args);
	return object;
}

static json_t *transfer(const struct kf_plan *plan,
			const struct kf_plan_op *op)
{
	json_t *object = json_object();

	if (op->kind == KF_PLAN_FILL) {
		set(object, "fill", place(plan, &op->to));
		set_int(object, "value", op->value);
		set_int(object, "width", op->width);
	} else {
		set(object, "copy", place(plan, &op->to));
		set(object, "from", place(plan, &op->from));
	}
	set_int(object, "bytes", op->bytes);
	return object;
}

json_t *kf_plan_to_json(const struct kf_plan *plan, size_t max)
{
	json_t *list = json_array();

	for (size_t i = 0; i < plan->op_count && i < max; i++) {
		const struct kf_plan_op *op = &plan->op[i];

		json_array_append_new(list, op->kind == KF_PLAN_LAUNCH ?
				      launch(plan, op) : transfer(plan, op));
	}
	if (plan->op_count > max)
		json_array_append_new(list, json_pack("{s: I}", "more",
				(json_int_t)(plan->op_count - max)));
	return list;
}
