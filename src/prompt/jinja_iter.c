#include "prompt/jinja_internal.h"

bool jinja_iterable(const struct value *v)
{
	switch (v->kind) {
	case V_STR:
	case V_LIST:
	case V_TUPLE:
	case V_DICT:
	case V_RANGE:
	case V_VIEW:
	case V_GEN:
	case V_LOOP:
		return true;
	case V_UNDEFINED:
		return v->u.undefined.lenient;
	default:
		return false;
	}
}

struct iter jinja_iter(struct jinja *j, struct value *v)
{
	struct iter iter = { .over = v };

	if (jinja_iterable(v) && v->kind != V_LOOP)
		return iter;
	if (v->kind == V_UNDEFINED)
		jinja_undefined_used(j, v);
	else
		jinja_fail(j, "a %s cannot be iterated", jinja_kind_name(v));
	iter.over = &j->empty;
	return iter;
}

int64_t jinja_range_count(const struct value *range)
{
	int64_t start = range->u.range.start, stop = range->u.range.stop;
	int64_t step = range->u.range.step;
	uint64_t span, stride = (uint64_t)step;

	/* range() refuses a step of 0. */
	if (!stride || (step > 0 ? start >= stop : start <= stop))
		return 0;
	span = (uint64_t)stop - (uint64_t)start;
	if (step < 0) {
		span = 0 - span;
		stride = 0 - stride;
	}
	span = (span - 1) / stride + 1;
	return span > INT64_MAX ? INT64_MAX : (int64_t)span;
}

static struct value *next_char(struct jinja *j, struct iter *iter)
{
	const struct value *s = iter->over;
	size_t at = iter->next, width;

	if (at >= s->u.s.len)
		return NULL;
	jinja_char_at(s->u.s.text + at, s->u.s.len - at, &width);
	iter->next += width;
	return jinja_str(j, s->u.s.text + at, width);
}

static struct value *pair_of(struct jinja *j, const struct pair *pair)
{
	struct value *tuple = jinja_new(j, V_TUPLE);

	jinja_push(j, &tuple->u.list, pair->key);
	jinja_push(j, &tuple->u.list, pair->value);
	return tuple;
}

static struct value *next_of_dict(struct jinja *j, struct iter *iter)
{
	const struct value *v = iter->over;
	char what = v->kind == V_VIEW ? v->u.view.what : 'k';
	const struct dict *dict = v->kind == V_VIEW ? &v->u.view.dict->u.dict :
						      &v->u.dict;
	const struct pair *pair;

	if (iter->next >= dict->count)
		return NULL;
	pair = &dict->at[iter->next++];
	if (what == 'k')
		return pair->key;
	return what == 'v' ? pair->value : pair_of(j, pair);
}

static struct value *next_of_gen(struct jinja *j, struct gen *gen)
{
	jinja_gen_fill(j, gen);
	if (gen->next < gen->items.count)
		return gen->items.at[gen->next++];
	if (gen->err.code && !jinja_failed(j))
		j->err = gen->err;
	return NULL;
}

static struct value *next_of_range(struct jinja *j, struct iter *iter)
{
	const struct value *v = iter->over;

	if (iter->next >= (uint64_t)jinja_range_count(v))
		return NULL;
	return jinja_int(j, (int64_t)((uint64_t)v->u.range.start +
				      (uint64_t)iter->next++ *
				      (uint64_t)v->u.range.step));
}

struct value *jinja_next(struct jinja *j, struct iter *iter)
{
	struct value *v = iter->over;

	if (!jinja_step(j))
		return NULL;
	switch (v->kind) {
	case V_STR:
		return next_char(j, iter);
	case V_LIST:
	case V_TUPLE:
		return iter->next < v->u.list.count ?
			v->u.list.at[iter->next++] : NULL;
	case V_DICT:
	case V_VIEW:
		return next_of_dict(j, iter);
	case V_RANGE:
		return next_of_range(j, iter);
	case V_GEN:
		return next_of_gen(j, v->u.gen);
	default:
		return NULL;
	}
}

struct value *jinja_list_of(struct jinja *j, struct value *v)
{
	struct value *list = jinja_new(j, V_LIST);
	struct iter iter = jinja_iter(j, v);

	while (!jinja_failed(j)) {
		struct value *item = jinja_next(j, &iter);

		if (!item)
			break;
		jinja_push(j, &list->u.list, item);
	}
	return list;
}

bool jinja_has_length(const struct value *v)
{
	return jinja_iterable(v) && v->kind != V_GEN;
}

int64_t jinja_length(struct jinja *j, const struct value *v)
{
	switch (v->kind) {
	case V_STR:
		return (int64_t)jinja_char_count(v->u.s.text, v->u.s.len);
	case V_LIST:
	case V_TUPLE:
		return (int64_t)v->u.list.count;
	case V_DICT:
		return (int64_t)v->u.dict.count;
	case V_VIEW:
		return (int64_t)v->u.view.dict->u.dict.count;
	case V_RANGE:
		return jinja_range_count(v);
	case V_LOOP:
		return jinja_loop_length(j, v->u.loop);
	case V_UNDEFINED:
		if (!v->u.undefined.lenient)
			jinja_undefined_used(j, v);
		return 0;
	default:
		jinja_fail(j, "a %s has no length", jinja_kind_name(v));
		return 0;
	}
}
