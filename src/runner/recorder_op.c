/* Launches, fills and copies, written down as they were asked for. */
#include "runner/recorder.h"

/* Left for buffers, mistakes and what else plans hold beside operations. */
#define OTHER_BYTES	(256u << 10)

/* --- one operation ------------------------------------------------------- */

static void put_op(struct kf_recorder *r, const struct kf_plan_op *op)
{
	struct kf_plan *p = r->plan;

	if (p->op_count == r->op_room) {
		r->op_room = 2 * r->op_room + 16;
		p->op = kf_realloc(p->op, r->op_room * sizeof(p->op[0]));
	}
	p->op[p->op_count++] = *op;
}

/* The call's name, what of it, and what is wrong with that. */
static int mistake_in(struct kf_recorder *r, const struct kf_plan_op *op,
		      const char *what, const char *why)
{
	struct kf_buf name = { .max = 255 };

	kf_plan_op_name(op, r->plan->op_count, r->preparing, &name);
	kf_recorder_mistake(r, "%s%s: %s", kf_buf_str(&name), what, why);
	kf_buf_release(&name);
	return -1;
}

/* Takes op, whatever becomes of it. */
static int add(struct kf_recorder *r, struct kf_plan_op *op)
{
	struct kf_plan *p = r->plan;
	char why[256];

	put_op(r, op);
	if (!kf_plan_op_check(p, p->op_count - 1, r->preparing, why)) {
		kf_recorder_mistake(r, "%s", why);
		kf_plan_op_release(&p->op[--p->op_count]);
		return -1;
	}
	kf_buf_clear(&r->written);
	kf_plan_op_write(&p->op[p->op_count - 1], &r->written);
	r->written_bytes += r->written.len;
	if (p->op_count > KF_PLAN_OPS_MAX ||
	    r->written_bytes > KF_PLAN_BYTES_MAX - OTHER_BYTES) {
		kf_plan_op_release(&p->op[--p->op_count]);
		return kf_recorder_mistake(r, "%s asks for too much: after "
				"%zu calls the list of launches is full; do "
				"more in each kernel", r->preparing ?
				"kf_prepare" : "kf_forward", p->op_count);
	}
	return 0;
}

/* --- arguments ----------------------------------------------------------- */

static const char *take_int(const struct kf_arg *from, struct kf_plan_arg *arg)
{
	int64_t least, most;

	if (from->bytes != 1 && from->bytes != 2 && from->bytes != 4)
		goto out;	/* 8 hold everything; others are found later */
	least = -(INT64_C(1) << (8 * from->bytes - 1));
	most = (INT64_C(1) << (8 * from->bytes)) - 1;
	if (from->v.i < least || from->v.i > most)
		return "the number does not fit; use KF_I64 and a kernel that "
			"takes 64 bits";
out:
	for (unsigned i = 0; i < sizeof(arg->value) && i < from->bytes; i++)
		arg->value[i] = (unsigned char)((uint64_t)from->v.i >>
						(8 * i));
	return NULL;
}

static const char *take_bytes(const struct kf_arg *from,
			      struct kf_plan_arg *arg)
{
	if (!from->v.p)
		return "KF_BYTES of NULL";
	if (from->bytes > KF_PLAN_STRUCT_MAX)
		return "KF_BYTES of more than 4096 bytes; put tables into "
			"memory with a kernel of kf_prepare";
	arg->data = kf_alloc(from->bytes);
	memcpy(arg->data, from->v.p, from->bytes);
	return NULL;
}

/* Without what its rank does not use. */
static const char *take_map(const struct kf_arg *from, struct kf_plan_arg *arg,
			    const void **handle)
{
	const struct kf_tensor_map *m = from->v.p;

	if (!m)
		return "KF_TMAP of NULL";
	if (m->size != sizeof(*m))
		return "a struct kf_tensor_map without its size; set .size = "
			"sizeof(struct kf_tensor_map)";
	arg->map = kf_alloc(sizeof(*m));
	*arg->map = *m;
	arg->map->reserved = 0;
	arg->map->data = NULL;
	arg->map->stride[0] = 0;
	for (int i = m->rank < 0 ? 0 : m->rank; i < 5; i++) {
		arg->map->dim[i] = arg->map->stride[i] = 0;
		arg->map->box[i] = arg->map->element_stride[i] = 0;
	}
	arg->bytes = KF_PLAN_MAP_BYTES;
	*handle = m->data;
	return NULL;
}

static const char *take_arg(struct kf_recorder *r, const struct kf_arg *from,
			    struct kf_plan_arg *arg, char words[128])
{
	const void *handle = from->v.p;
	const char *why = NULL;

	arg->kind = (enum kf_arg_kind)from->kind;
	arg->bytes = from->bytes;
	if (from->kind == KF_ARG_INT)
		why = take_int(from, arg);
	else if (from->kind == KF_ARG_FLOAT)
		memcpy(arg->value, &from->v, from->bytes == 4 ? 4 : 8);
	else if (from->kind == KF_ARG_BYTES)
		why = take_bytes(from, arg);
	else if (from->kind == KF_ARG_TENSOR_MAP)
		why = take_map(from, arg, &handle);
	if (!why && (from->kind == KF_ARG_BUFFER ||
		     from->kind == KF_ARG_TENSOR_MAP) &&
	    !kf_recorder_place(r, handle, &arg->place, words))
		why = words;
	return why;
}

static int take_args(struct kf_recorder *r, const struct kf_launch *l,
		     struct kf_plan_op *op)
{
	char what[32], words[128];

	if (l->arg_count < 0 || l->arg_count > (int32_t)KF_PLAN_ARGS_MAX ||
	    (l->arg_count && !l->arg))
		return mistake_in(r, op, "", "its arguments cannot be counted; "
				  "there are at most 256");
	op->arg = kf_alloc((size_t)l->arg_count * sizeof(op->arg[0]));
	op->arg_count = (size_t)l->arg_count;
	for (size_t i = 0; i < op->arg_count; i++) {
		const char *why = take_arg(r, &l->arg[i], &op->arg[i], words);

		snprintf(what, sizeof(what), ", argument %zu", i + 1);
		if (why)
			return mistake_in(r, op, what, why);
	}
	return 0;
}

/* --- what a program calls ------------------------------------------------ */

static void take_dim(int64_t out[3], const struct kf_dim *dim)
{
	out[0] = dim->x;
	out[1] = dim->y;
	out[2] = dim->z;
}

static int launch(struct kf_call *c, const struct kf_launch *l)
{
	struct kf_recorder *r = c->owner;
	struct kf_plan_op op = { .kind = KF_PLAN_LAUNCH };
	int rc;

	if (kf_recorder_failed(r))
		return -1;
	if (l->size != sizeof(*l))
		return mistake_in(r, &op, "", "its struct kf_launch is not of "
				  "this <kforge/launch.h>");
	/* One more than it may have, for the check to see. */
	op.kernel = l->kernel ? kf_strndup(l->kernel,
			strnlen(l->kernel, KF_PLAN_NAME_MAX + 1)) :
		kf_strdup("");
	take_dim(op.grid, &l->grid);
	take_dim(op.group, &l->group);
	take_dim(op.cluster, &l->options.cluster);
	op.shared_bytes = l->shared_bytes;
	op.cooperative = l->options.cooperative;
	op.dependent = l->options.dependent;
	rc = take_args(r, l, &op);
	if (rc)
		kf_plan_op_release(&op);
	return rc ? rc : add(r, &op);
}

static int fill(struct kf_call *c, const void *to, uint64_t value, int width,
		int64_t count)
{
	struct kf_recorder *r = c->owner;
	struct kf_plan_op op = { .kind = KF_PLAN_FILL };
	char why[128];

	if (kf_recorder_failed(r))
		return -1;
	if (count < 0 || count > INT64_MAX / 8)
		return mistake_in(r, &op, "", "a number of elements that "
				  "cannot be");
	if (!count)
		return 0;
	if (!kf_recorder_place(r, to, &op.to, why))
		return mistake_in(r, &op, ", to", why);
	op.width = width < 0 || width > 8 ? 0 : (uint32_t)width;
	op.bytes = (uint64_t)count * op.width;
	op.value = op.width < 8 ? value & ((UINT64_C(1) << 8 * op.width) - 1) :
		value;
	return add(r, &op);
}

static int copy(struct kf_call *c, const void *to, const void *from,
		int64_t bytes)
{
	struct kf_recorder *r = c->owner;
	struct kf_plan_op op = { .kind = KF_PLAN_COPY };
	char why[128];

	if (kf_recorder_failed(r))
		return -1;
	if (bytes < 0)
		return mistake_in(r, &op, "", "a negative number of bytes");
	if (!bytes)
		return 0;
	if (!kf_recorder_place(r, to, &op.to, why))
		return mistake_in(r, &op, ", to", why);
	if (!kf_recorder_place(r, from, &op.from, why))
		return mistake_in(r, &op, ", from", why);
	op.bytes = (uint64_t)bytes;
	return add(r, &op);
}

const struct kf_launch_table kf_recorder_table = {
	.size = sizeof(kf_recorder_table),
	.launch = launch,
	.fill = fill,
	.copy = copy,
};
