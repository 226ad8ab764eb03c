#include "prompt/jinja_internal.h"

#include <math.h>

bool jinja_is_number(const struct value *v)
{
	return v->kind == V_BOOL || v->kind == V_INT || v->kind == V_FLOAT;
}

static int64_t whole(const struct value *v)
{
	return v->kind == V_BOOL ? v->u.b : v->u.i;
}

double jinja_as_double(const struct value *v)
{
	return v->kind == V_FLOAT ? v->u.f : (double)whole(v);
}

int64_t jinja_as_int(struct jinja *j, const struct value *v, const char *what)
{
	if (v->kind == V_INT || v->kind == V_BOOL)
		return whole(v);
	if (v->kind == V_UNDEFINED)
		jinja_undefined_used(j, v);
	else
		jinja_fail(j, "%s must be an integer, not a %s", what,
			   jinja_kind_name(v));
	return 0;
}

struct value *jinja_undefined_used(struct jinja *j, const struct value *v)
{
	return jinja_fail(j, "%s", v->u.undefined.hint);
}

bool jinja_truth(struct jinja *j, const struct value *v)
{
	switch (v->kind) {
	case V_NONE:
		return false;
	case V_BOOL:
	case V_INT:
		return whole(v) != 0;
	case V_FLOAT:
		return v->u.f != 0;
	case V_UNDEFINED:
		if (!v->u.undefined.lenient)
			jinja_undefined_used(j, v);
		return false;
	default:
		return !jinja_has_length(v) || jinja_length(j, v) != 0;
	}
}

/* -1, 0, 1; 2 when one is NaN. Exact also where an int64 has no double. */
static int compare_numbers(const struct value *a, const struct value *b)
{
	double x, y;

	if (a->kind != V_FLOAT && b->kind != V_FLOAT)
		return (whole(a) > whole(b)) - (whole(a) < whole(b));
	x = jinja_as_double(a);
	y = jinja_as_double(b);
	if (isnan(x) || isnan(y))
		return 2;
	if (x != y || (a->kind == V_FLOAT && b->kind == V_FLOAT))
		return (x > y) - (x < y);
	/* Equal as doubles, but the integer may have been rounded. */
	if (fabs(x) >= 0x1p63)
		return a->kind == V_FLOAT ? (x > 0) - (x < 0) :
					    (y < 0) - (y > 0);
	if (a->kind == V_FLOAT)
		return ((int64_t)x > whole(b)) - ((int64_t)x < whole(b));
	return (whole(a) > (int64_t)y) - (whole(a) < (int64_t)y);
}

static int compare_text(const struct value *a, const struct value *b)
{
	size_t len = a->u.s.len < b->u.s.len ? a->u.s.len : b->u.s.len;
	int order = len ? memcmp(a->u.s.text, b->u.s.text, len) : 0;

	if (order)
		return order < 0 ? -1 : 1;
	return (a->u.s.len > b->u.s.len) - (a->u.s.len < b->u.s.len);
}

static bool equal_dicts(struct jinja *j, const struct dict *a,
			const struct dict *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count && !jinja_failed(j); i++) {
		struct value *other = jinja_dict_get(j, b, a->at[i].key);

		if (!other || (other != a->at[i].value &&
			       !jinja_equal(j, a->at[i].value, other)))
			return false;
	}
	return true;
}

static bool equal_lists(struct jinja *j, const struct list *a,
			const struct list *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count && !jinja_failed(j); i++)
		if (a->at[i] != b->at[i] &&
		    !jinja_equal(j, a->at[i], b->at[i]))
			return false;
	return true;
}

static bool equal_ranges(const struct value *a, const struct value *b)
{
	int64_t count = jinja_range_count(a);

	if (count != jinja_range_count(b))
		return false;
	if (count == 0)
		return true;
	return a->u.range.start == b->u.range.start &&
		(count == 1 || a->u.range.step == b->u.range.step);
}

static bool equal_same_kind(struct jinja *j, const struct value *a,
			    const struct value *b)
{
	switch (a->kind) {
	case V_NONE:
		return true;
	case V_STR:
		return !compare_text(a, b);
	case V_LIST:
	case V_TUPLE:
		return equal_lists(j, &a->u.list, &b->u.list);
	case V_DICT:
		return equal_dicts(j, &a->u.dict, &b->u.dict);
	case V_RANGE:
		return equal_ranges(a, b);
	case V_FUNCTION:
		return a->u.function == b->u.function;
	default:
		return a == b;
	}
}

bool jinja_equal(struct jinja *j, const struct value *a, const struct value *b)
{
	bool equal = false;

	if (a->kind == V_UNDEFINED || b->kind == V_UNDEFINED) {
		const struct value *v = a->kind == V_UNDEFINED ? a : b;

		if (!v->u.undefined.lenient)
			jinja_undefined_used(j, v);
		else if (a->kind == b->kind && !b->u.undefined.lenient)
			jinja_undefined_used(j, b);
		return a->kind == b->kind;
	}
	if (jinja_is_number(a) && jinja_is_number(b))
		return compare_numbers(a, b) == 0;
	if (a->kind != b->kind)
		return false;
	if (jinja_enter(j))
		equal = equal_same_kind(j, a, b);
	jinja_leave(j);
	return equal;
}

static bool holds(int op, int order)
{
	switch (op) {
	case '<':
		return order == -1;
	case '>':
		return order == 1;
	case OP('<', '='):
		return order == -1 || order == 0;
	default:
		return order == 1 || order == 0;
	}
}

static bool order_lists(struct jinja *j, int op, const struct list *a,
			const struct list *b)
{
	size_t count = a->count < b->count ? a->count : b->count;

	for (size_t i = 0; i < count && !jinja_failed(j); i++)
		if (a->at[i] != b->at[i] &&
		    !jinja_equal(j, a->at[i], b->at[i]))
			return jinja_order(j, op, a->at[i], b->at[i]);
	return holds(op, (a->count > b->count) - (a->count < b->count));
}

bool jinja_order(struct jinja *j, int op, const struct value *a,
		 const struct value *b)
{
	bool result = false;

	if (jinja_is_number(a) && jinja_is_number(b))
		return holds(op, compare_numbers(a, b));
	if (a->kind == V_UNDEFINED || b->kind == V_UNDEFINED) {
		jinja_undefined_used(j, a->kind == V_UNDEFINED ? a : b);
		return false;
	}
	if (a->kind == V_STR && b->kind == V_STR)
		return holds(op, compare_text(a, b));
	if (a->kind == b->kind && (a->kind == V_LIST || a->kind == V_TUPLE)) {
		if (jinja_enter(j))
			result = order_lists(j, op, &a->u.list, &b->u.list);
		jinja_leave(j);
		return result;
	}
	jinja_fail(j, "cannot order a %s and a %s", jinja_kind_name(a),
		   jinja_kind_name(b));
	return false;
}

static bool contains_number(struct jinja *j, const struct value *range,
			    const struct value *item)
{
	double f = jinja_is_number(item) ? jinja_as_double(item) : NAN;
	int64_t at;

	if (item->kind == V_UNDEFINED)
		jinja_equal(j, item, &j->none);
	if (!(f == floor(f)) || fabs(f) >= 0x1p62)
		return false;
	at = (int64_t)f;
	if (range->u.range.step > 0 ? at < range->u.range.start ||
				      at >= range->u.range.stop :
				      at > range->u.range.start ||
				      at <= range->u.range.stop)
		return false;
	return (at - range->u.range.start) % range->u.range.step == 0;
}

bool jinja_contains(struct jinja *j, struct value *seq, struct value *item)
{
	struct value *each;
	struct iter iter;

	if (seq->kind == V_STR) {
		if (item->kind == V_STR)
			return jinja_find(seq, item, 0) != SIZE_MAX;
		jinja_fail(j, "only a string can be in a string, not a %s",
			   jinja_kind_name(item));
		return false;
	}
	if (seq->kind == V_DICT ||
	    (seq->kind == V_VIEW && seq->u.view.what == 'k')) {
		const struct value *dict = seq->kind == V_VIEW ?
					   seq->u.view.dict : seq;

		if (item->kind == V_UNDEFINED && !item->u.undefined.lenient)
			jinja_undefined_used(j, item);
		else if (!jinja_hashable(item))
			jinja_fail(j, "a %s cannot be the key of a dict",
				   jinja_kind_name(item));
		else
			return jinja_dict_get(j, &dict->u.dict, item) != NULL;
		return false;
	}
	if (seq->kind == V_RANGE)
		return contains_number(j, seq, item);
	iter = jinja_iter(j, seq);
	while (!jinja_failed(j)) {
		each = jinja_next(j, &iter);
		if (!each)
			break;
		if (each == item || jinja_equal(j, each, item))
			return !jinja_failed(j);
	}
	return false;
}
