/* Do two recordings ask for the same, and if not, where do they begin to
 * differ? */
#include <inttypes.h>

#include "base/base.h"
#include "platform/plan.h"

#define HANDLE_SALT_SHIFT 52	/* as in the recorder: what differs is above */

struct pair {
	const struct kf_plan *a, *b;
	bool preparing;
	struct kf_buf why;
};

static bool differ(struct pair *p, const char *fmt, ...) KF_PRINTF(2, 3);

static bool differ(struct pair *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	kf_buf_vprintf(&p->why, fmt, ap);
	va_end(ap);
	return false;
}

static const char *function(const struct pair *p)
{
	return p->preparing ? "kf_prepare" : "kf_forward";
}

static bool same_place(const struct kf_plan_place *a,
		       const struct kf_plan_place *b)
{
	return a->buffer == b->buffer && a->offset == b->offset;
}

static uint64_t number_of(const struct kf_plan_arg *arg)
{
	uint64_t value = 0;

	memcpy(&value, arg->value, arg->bytes);
	return value;
}

/* Begins the sentence with the operation's name. */
static bool differ_in(struct pair *p, size_t op, const char *what)
{
	kf_plan_op_name(&p->a->op[op], op, p->preparing, &p->why);
	return differ(p, ", %s", what);
}

static bool same_number(struct pair *p, size_t op, const char *what,
			const struct kf_plan_arg *x,
			const struct kf_plan_arg *y)
{
	uint64_t a = number_of(x), b = number_of(y);

	if (a == b)
		return true;
	if (x->bytes == 8 && a & b & UINT64_C(1) << 63 &&
	    (a ^ b) >> HANDLE_SALT_SHIFT << HANDLE_SALT_SHIFT == (a ^ b)) {
		differ_in(p, op, what);
		return differ(p, ": it is a handle, passed as a number; pass "
			      "it with KF_BUF or KF_BUF_AT");
	}
	differ_in(p, op, what);
	return differ(p, ": its bits are 0x%" PRIx64 " one time, 0x%" PRIx64
		      " another", a, b);
}

static bool same_bytes(struct pair *p, size_t op, const char *what,
		       const struct kf_plan_arg *a,
		       const struct kf_plan_arg *b)
{
	for (uint32_t i = 0; i < a->bytes; i++) {
		if (a->data[i] == b->data[i])
			continue;
		differ_in(p, op, what);
		return differ(p, ": byte %u of its %u differs; set every byte "
			      "of a struct, also between its members, and "
			      "hold no handle in it", i, a->bytes);
	}
	return true;
}

static bool same_map(const struct kf_tensor_map *a,
		     const struct kf_tensor_map *b)
{
	return a->dtype == b->dtype && a->rank == b->rank &&
		a->interleave == b->interleave && a->swizzle == b->swizzle &&
		a->l2_promotion == b->l2_promotion &&
		a->oob_fill == b->oob_fill &&
		memcmp(a->dim, b->dim, sizeof(a->dim)) == 0 &&
		memcmp(a->stride, b->stride, sizeof(a->stride)) == 0 &&
		memcmp(a->box, b->box, sizeof(a->box)) == 0 &&
		memcmp(a->element_stride, b->element_stride,
		       sizeof(a->element_stride)) == 0;
}

static bool same_arg(struct pair *p, size_t op, size_t i)
{
	const struct kf_plan_arg *a = &p->a->op[op].arg[i];
	const struct kf_plan_arg *b = &p->b->op[op].arg[i];
	char what[32];

	snprintf(what, sizeof(what), "argument %zu", i + 1);
	if (a->kind != b->kind || a->bytes != b->bytes)
		return differ_in(p, op, what);
	if (a->kind == KF_ARG_INT || a->kind == KF_ARG_FLOAT)
		return same_number(p, op, what, a, b);
	if (a->kind == KF_ARG_BYTES)
		return same_bytes(p, op, what, a, b);
	if ((a->kind == KF_ARG_BUFFER || a->kind == KF_ARG_TENSOR_MAP) &&
	    !same_place(&a->place, &b->place))
		return differ_in(p, op, what);
	if (a->kind == KF_ARG_TENSOR_MAP && !same_map(a->map, b->map))
		return differ_in(p, op, what);
	return true;
}

static bool same_launch(struct pair *p, size_t i)
{
	const struct kf_plan_op *a = &p->a->op[i], *b = &p->b->op[i];
	const struct { bool same; const char *what; } rows[] = {
		{ strcmp(a->kernel, b->kernel) == 0, "the kernel" },
		{ memcmp(a->grid, b->grid, sizeof(a->grid)) == 0, "the grid" },
		{ memcmp(a->group, b->group, sizeof(a->group)) == 0,
		  "the group" },
		{ memcmp(a->cluster, b->cluster, sizeof(a->cluster)) == 0 &&
		  a->cooperative == b->cooperative &&
		  a->dependent == b->dependent, "the options" },
		{ a->shared_bytes == b->shared_bytes, "the shared bytes" },
		{ a->arg_count == b->arg_count, "the number of arguments" },
	};

	for (size_t k = 0; k < KF_COUNT(rows); k++)
		if (!rows[k].same)
			return differ_in(p, i, rows[k].what);
	for (size_t k = 0; k < a->arg_count; k++)
		if (!same_arg(p, i, k))
			return false;
	return true;
}

static bool same_op(struct pair *p, size_t i)
{
	const struct kf_plan_op *a = &p->a->op[i], *b = &p->b->op[i];

	if (a->kind != b->kind)
		return differ_in(p, i, "what it is");
	if (a->kind == KF_PLAN_LAUNCH)
		return same_launch(p, i);
	if (!same_place(&a->to, &b->to) || !same_place(&a->from, &b->from))
		return differ_in(p, i, "the place");
	if (a->bytes != b->bytes || a->width != b->width)
		return differ_in(p, i, "the size");
	if (a->value != b->value)
		return differ_in(p, i, "the value");
	return true;
}

static bool same_plan(struct pair *p)
{
	size_t count = p->a->op_count < p->b->op_count ? p->a->op_count :
		p->b->op_count;

	for (size_t i = 0; i < count; i++)
		if (!same_op(p, i))
			return false;
	if (p->a->op_count != p->b->op_count)
		return differ(p, "%s: %zu calls one time, %zu another",
			      function(p), p->a->op_count, p->b->op_count);
	for (size_t i = 0; i < p->a->buffer_count &&
	     i < p->b->buffer_count; i++) {
		const struct kf_plan_buffer *x = &p->a->buffer[i];
		const struct kf_plan_buffer *y = &p->b->buffer[i];
		char name[32];

		kf_plan_buffer_name(x->memory, x->index, name);
		if (x->memory != y->memory || x->index != y->index ||
		    x->bytes != y->bytes)
			return differ(p, "%s: the size or the use of %s",
				      function(p), name);
	}
	if (p->a->buffer_count != p->b->buffer_count)
		return differ(p, "%s: what memory it asks for", function(p));
	if (p->a->rc != p->b->rc)
		return differ(p, "%s: it returned %d one time, %d another",
			      function(p), p->a->rc, p->b->rc);
	if (strcmp(p->a->mistake, p->b->mistake) != 0)
		return differ(p, "%s: its mistake", function(p));
	return true;
}

bool kf_plans_equal(const struct kf_plans *a, const struct kf_plans *b,
		    char why[256])
{
	struct pair prepare = { &a->prepare, &b->prepare, true,
				{ .max = 255 } };
	struct pair forward = { &a->forward, &b->forward, false,
				{ .max = 255 } };
	bool equal = a->has_prepare == b->has_prepare;

	if (!equal)
		differ(&prepare, "whether there is a kf_prepare");
	else
		equal = same_plan(&prepare) && same_plan(&forward);
	snprintf(why, 256, "%s%s", kf_buf_str(&prepare.why),
		 kf_buf_str(&forward.why));
	kf_buf_release(&prepare.why);
	kf_buf_release(&forward.why);
	return equal;
}
