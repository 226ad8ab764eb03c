/* What plans own, what they are called, and which of them can be done. */
#include "platform/plan.h"

#include <ctype.h>

#include "base/base.h"

void kf_plan_op_release(struct kf_plan_op *op)
{
	for (size_t i = 0; i < op->arg_count; i++) {
		free(op->arg[i].data);
		free(op->arg[i].map);
	}
	free(op->arg);
	free(op->kernel);
	*op = (struct kf_plan_op) { 0 };
}

void kf_plan_release(struct kf_plan *plan)
{
	for (size_t i = 0; i < plan->op_count; i++)
		kf_plan_op_release(&plan->op[i]);
	free(plan->op);
	free(plan->buffer);
	*plan = (struct kf_plan) { 0 };
}

void kf_plans_release(struct kf_plans *plans)
{
	kf_plan_release(&plans->prepare);
	kf_plan_release(&plans->forward);
	plans->has_prepare = false;
}

/* --- names --------------------------------------------------------------- */

const char *kf_plan_arg_macro(const struct kf_plan_arg *arg)
{
	static const struct {
		enum kf_arg_kind kind;
		uint32_t bytes;		/* 0: any */
		const char *macro;
	} rows[] = {
		{ KF_ARG_BUFFER, 0, "KF_BUF" }, { KF_ARG_LOCAL, 0, "KF_LOCAL" },
		{ KF_ARG_BYTES, 0, "KF_BYTES" },
		{ KF_ARG_TENSOR_MAP, 0, "KF_TMAP" },
		{ KF_ARG_INT, 1, "KF_I8" }, { KF_ARG_INT, 2, "KF_I16" },
		{ KF_ARG_INT, 4, "KF_I32" }, { KF_ARG_INT, 8, "KF_I64" },
		{ KF_ARG_FLOAT, 4, "KF_F32" }, { KF_ARG_FLOAT, 8, "KF_F64" },
	};

	for (size_t i = 0; i < KF_COUNT(rows); i++)
		if (rows[i].kind == arg->kind &&
		    (!rows[i].bytes || rows[i].bytes == arg->bytes))
			return rows[i].macro;
	return "something else";
}

void kf_plan_op_name(const struct kf_plan_op *op, size_t number,
		     bool preparing, struct kf_buf *out)
{
	kf_buf_printf(out, "call %zu of %s, ", number + 1,
		      preparing ? "kf_prepare" : "kf_forward");
	if (op->kind == KF_PLAN_LAUNCH)
		kf_buf_printf(out, "a launch of %.48s",
			      op->kernel && op->kernel[0] ? op->kernel :
			      "no kernel");
	else
		kf_buf_puts(out, op->kind == KF_PLAN_FILL ? "a fill" :
			    "a copy");
}

void kf_plan_buffer_name(enum kf_plan_memory memory, uint32_t index,
			 char out[32])
{
	static const char *const words[] = {
		[KF_PLAN_IN] = "input", [KF_PLAN_WEIGHT] = "weight",
		[KF_PLAN_OUT] = "output", [KF_PLAN_TEMP] = "kf_temp",
		[KF_PLAN_KEEP] = "kf_keep",
	};

	snprintf(out, 32, "%s %u", words[memory], index);
}

/* --- can it be done? ----------------------------------------------------- */

/* One operation under examination. Sentences go to words, after its name. */
struct check {
	const struct kf_plan *plan;
	const struct kf_plan_op *op;
	size_t number;
	bool preparing;
	struct kf_buf words;
};

static bool wrong(struct check *c, const char *fmt, ...) KF_PRINTF(2, 3);

static bool wrong(struct check *c, const char *fmt, ...)
{
	va_list ap;

	kf_plan_op_name(c->op, c->number, c->preparing, &c->words);
	va_start(ap, fmt);
	kf_buf_vprintf(&c->words, fmt, ap);
	va_end(ap);
	return false;
}

static bool is_identifier(const char *name)
{
	size_t len = name ? strlen(name) : 0;

	if (!len || len > KF_PLAN_NAME_MAX || isdigit((unsigned char)name[0]))
		return false;
	for (size_t i = 0; i < len; i++)
		if (name[i] != '_' && !isalnum((unsigned char)name[i]))
			return false;
	return true;
}

/* bytes: how many there must be behind the place. what: "argument 2", "to". */
static bool check_place(struct check *c, const struct kf_plan_place *place,
			uint64_t bytes, const char *what)
{
	const struct kf_plan_buffer *b;
	char name[32];

	if (place->buffer >= c->plan->buffer_count)
		return wrong(c, ", %s: buffer %u, of %zu", what, place->buffer,
			     c->plan->buffer_count);
	b = &c->plan->buffer[place->buffer];
	kf_plan_buffer_name(b->memory, b->index, name);
	if (place->offset > b->bytes)
		return wrong(c, ", %s: byte %llu of %s, which has %llu bytes",
			     what, (unsigned long long)place->offset, name,
			     (unsigned long long)b->bytes);
	if (bytes > b->bytes - place->offset)
		return wrong(c, ", %s: %llu bytes from byte %llu of %s, which "
			     "has %llu bytes", what,
			     (unsigned long long)bytes,
			     (unsigned long long)place->offset, name,
			     (unsigned long long)b->bytes);
	return true;
}

static bool check_written(struct check *c)
{
	const struct kf_plan_buffer *b =
		&c->plan->buffer[c->op->to.buffer];
	char name[32];

	kf_plan_buffer_name(b->memory, b->index, name);
	if (b->memory == KF_PLAN_IN || b->memory == KF_PLAN_WEIGHT)
		return wrong(c, " to %s: inputs and weights are only read; "
			     "work on a copy in kf_temp", name);
	if (b->memory == KF_PLAN_KEEP && !c->preparing)
		return wrong(c, " to %s: kept memory is written in kf_prepare "
			     "and only read in kf_forward", name);
	return true;
}

/* --- launches ------------------------------------------------------------ */

static bool check_dim(struct check *c, const int64_t dim[3], const char *name)
{
	for (int i = 0; i < 3; i++)
		if (dim[i] < 1 || dim[i] > KF_PLAN_DIM_MAX)
			return wrong(c, ": %s.%c is %lld; give 1 to "
				     "%lld, as KF_DIM(x), KF_DIM(x, y) or "
				     "KF_DIM(x, y, z)", name, "xyz"[i],
				     (long long)dim[i],
				     (long long)KF_PLAN_DIM_MAX);
	return true;
}

static bool check_shape(struct check *c)
{
	const struct kf_plan_op *op = c->op;

	if (!op->kernel || !op->kernel[0])
		return wrong(c, ": it names no kernel");
	if (!is_identifier(op->kernel))
		return wrong(c, ": a kernel's name is a C identifier of at "
			     "most %u letters, digits and _", KF_PLAN_NAME_MAX);
	if (!check_dim(c, op->grid, "grid") ||
	    !check_dim(c, op->group, "group"))
		return false;
	if (op->cluster[0] | op->cluster[1] | op->cluster[2] &&
	    !check_dim(c, op->cluster, "cluster"))
		return false;
	if (op->shared_bytes < 0 || op->shared_bytes > INT32_MAX)
		return wrong(c, ": %lld shared bytes; give 0 to %d",
			     (long long)op->shared_bytes, INT32_MAX);
	if (op->arg_count > KF_PLAN_ARGS_MAX)
		return wrong(c, ": %zu arguments; at most %u, pass a struct "
			     "with KF_BYTES", op->arg_count, KF_PLAN_ARGS_MAX);
	return true;
}

/* Bytes from the first to behind the last element; 0 if more than can be. */
static uint64_t map_span(const struct kf_tensor_map *m)
{
	uint64_t element = kf_dtype_bytes((enum kf_dtype)m->dtype);
	uint64_t bytes = (uint64_t)m->dim[0] * element;

	for (int i = 1; i < m->rank; i++) {
		uint64_t more;

		if (__builtin_mul_overflow((uint64_t)m->dim[i] - 1,
					   (uint64_t)m->stride[i], &more) ||
		    __builtin_add_overflow(bytes, more, &bytes))
			return 0;
	}
	return bytes;
}

/* What cuTensorMapEncodeTiled says of the numbers the driver tells; here only
 * what decides where in memory it reaches. */
static bool check_map(struct check *c, const struct kf_plan_arg *arg,
		      const char *what)
{
	const struct kf_tensor_map *m = arg->map;
	uint64_t span;

	if (m->rank < 1 || m->rank > 5)
		return wrong(c, ", %s: a tensor map of rank %d; it is 1 to 5",
			     what, m->rank);
	if (!kf_dtype_bytes((enum kf_dtype)m->dtype))
		return wrong(c, ", %s: a tensor map of unknown dtype %d", what,
			     m->dtype);
	if (m->interleave)
		return wrong(c, ", %s: a tensor map with interleave %d; only "
			     "0 is supported", what, m->interleave);
	for (int i = 0; i < m->rank; i++) {
		if (m->dim[i] < 1 || m->dim[i] > INT64_C(1) << 32)
			return wrong(c, ", %s: dim[%d] of the tensor map is "
				     "%lld; it is 1 to 2^32", what, i,
				     (long long)m->dim[i]);
		if (i && (m->stride[i] < 1 ||
			  m->stride[i] >= INT64_C(1) << 40))
			return wrong(c, ", %s: stride[%d] of the tensor map "
				     "is %lld; it is 1 to 2^40 bytes", what, i,
				     (long long)m->stride[i]);
	}
	span = map_span(m);
	return check_place(c, &arg->place, span ? span : UINT64_MAX, what);
}

static bool is_width(uint32_t bytes)
{
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

static bool size_is_right(const struct kf_plan_arg *arg)
{
	switch (arg->kind) {
	case KF_ARG_BUFFER:
		return arg->bytes == 8;
	case KF_ARG_INT:
		return is_width(arg->bytes);
	case KF_ARG_FLOAT:
		return arg->bytes == 4 || arg->bytes == 8;
	case KF_ARG_BYTES:
		return arg->bytes >= 1 && arg->bytes <= KF_PLAN_STRUCT_MAX &&
			arg->data;
	case KF_ARG_LOCAL:
		return arg->bytes >= 1 && arg->bytes <= INT32_MAX;
	case KF_ARG_TENSOR_MAP:
		return arg->bytes == KF_PLAN_MAP_BYTES && arg->map;
	case KF_ARG_NONE:
		break;
	}
	return false;
}

static bool check_arg(struct check *c, size_t i)
{
	const struct kf_plan_arg *arg = &c->op->arg[i];
	char what[32];

	snprintf(what, sizeof(what), "argument %zu", i + 1);
	if (arg->kind <= KF_ARG_NONE || arg->kind > KF_ARG_TENSOR_MAP)
		return wrong(c, ", %s: its kind is unknown (%d); make "
			     "arguments with KF_BUF, KF_I64 and their like",
			     what, (int)arg->kind);
	if (!size_is_right(arg))
		return wrong(c, ", %s: %u bytes are not possible for "
			     "its kind (a struct by KF_BYTES has 1 to %u)",
			     what, arg->bytes, KF_PLAN_STRUCT_MAX);
	if (arg->kind == KF_ARG_BUFFER)
		return check_place(c, &arg->place, 0, what);
	if (arg->kind == KF_ARG_TENSOR_MAP)
		return check_map(c, arg, what);
	return true;
}

static bool check_launch(struct check *c)
{
	if (!check_shape(c))
		return false;
	for (size_t i = 0; i < c->op->arg_count; i++)
		if (!check_arg(c, i))
			return false;
	return true;
}

/* --- fills and copies ---------------------------------------------------- */

static bool check_fill(struct check *c)
{
	const struct kf_plan_op *op = c->op;

	if (!is_width(op->width))
		return wrong(c, ": elements of %u bytes; they have 1, 2, 4 or "
			     "8", op->width);
	if (!op->bytes || op->bytes % op->width ||
	    op->to.offset % op->width)
		return wrong(c, ": %llu bytes from byte %llu are not whole "
			     "elements of %u bytes",
			     (unsigned long long)op->bytes,
			     (unsigned long long)op->to.offset, op->width);
	return check_place(c, &op->to, op->bytes, "to") && check_written(c);
}

static bool check_copy(struct check *c)
{
	const struct kf_plan_op *op = c->op;
	uint64_t low, high;

	if (!op->bytes)
		return wrong(c, " of nothing");
	if (!check_place(c, &op->to, op->bytes, "to") ||
	    !check_place(c, &op->from, op->bytes, "from") || !check_written(c))
		return false;
	low = op->to.offset < op->from.offset ? op->to.offset :
		op->from.offset;
	high = op->to.offset + op->from.offset - low;
	if (op->to.buffer == op->from.buffer && high - low < op->bytes)
		return wrong(c, ": the two ranges overlap; copy through "
			     "kf_temp");
	return true;
}

bool kf_plan_op_check(const struct kf_plan *plan, size_t number, bool preparing,
		      char why[256])
{
	struct check c = {
		.plan = plan, .op = &plan->op[number], .number = number,
		.preparing = preparing, .words.max = 255,
	};
	bool good;

	switch (c.op->kind) {
	case KF_PLAN_LAUNCH:
		good = check_launch(&c);
		break;
	case KF_PLAN_FILL:
		good = check_fill(&c);
		break;
	case KF_PLAN_COPY:
		good = check_copy(&c);
		break;
	default:
		good = wrong(&c, ": unknown operation %d", (int)c.op->kind);
		break;
	}
	snprintf(why, 256, "%s", kf_buf_str(&c.words));
	kf_buf_release(&c.words);
	return good;
}
