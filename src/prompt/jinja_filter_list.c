/* Filters whose subject is walked: taking parts, counting, joining. */
#include "prompt/jinja_internal.h"

static struct value *do_length(struct jinja *j, struct value *v,
			       const struct args *args)
{
	(void)args;
	return jinja_int(j, jinja_length(j, v));
}

static struct value *do_list(struct jinja *j, struct value *v,
			     const struct args *args)
{
	(void)args;
	return jinja_list_of(j, v);
}

static struct value *do_first(struct jinja *j, struct value *v,
			      const struct args *args)
{
	struct iter iter = jinja_iter(j, v);
	struct value *item;

	(void)args;
	item = jinja_failed(j) ? NULL : jinja_next(j, &iter);
	return item ? item :
		jinja_undefined(j, "no first item, the sequence is empty");
}

static bool want_reversible(struct jinja *j, const struct value *v)
{
	if (v->kind == V_UNDEFINED)
		jinja_undefined_used(j, v);
	else if (v->kind == V_LOOP || !jinja_has_length(v))
		jinja_fail(j, "a %s has no last item", jinja_kind_name(v));
	return !jinja_failed(j);
}

static struct value *do_last(struct jinja *j, struct value *v,
			     const struct args *args)
{
	struct value *list;

	(void)args;
	if (!want_reversible(j, v))
		return &j->none;
	list = jinja_list_of(j, v);
	if (!list->u.list.count)
		return jinja_undefined(j, "no last item, the sequence is "
				       "empty");
	return list->u.list.at[list->u.list.count - 1];
}

static void turn_around(struct list *list)
{
	for (size_t i = 0, k = list->count; i + 1 < k; i++) {
		struct value *swap = list->at[i];

		list->at[i] = list->at[--k];
		list->at[k] = swap;
	}
}

static struct value *reverse_text(struct jinja *j, const struct value *s)
{
	char *text = jinja_alloc(j, s->u.s.len + 1);
	size_t width;

	for (size_t i = 0; i < s->u.s.len; i += width) {
		jinja_char_at(s->u.s.text + i, s->u.s.len - i, &width);
		memcpy(text + s->u.s.len - i - width, s->u.s.text + i, width);
	}
	return jinja_str_like(j, s, text, s->u.s.len);
}

static struct value *do_reverse(struct jinja *j, struct value *v,
				const struct args *args)
{
	struct value *list;

	(void)args;
	if (v->kind == V_STR)
		return reverse_text(j, v);
	list = jinja_list_of(j, v);
	turn_around(&list->u.list);
	/* Python has no reversed() of a generator: there it is a list. */
	return v->kind == V_GEN ? list : jinja_gen(j, list->u.list);
}

static struct value *do_join(struct jinja *j, struct value *v,
			     const struct args *args)
{
	struct value *by = args->at[0] ? jinja_to_str(j, args->at[0]) :
					 &j->empty;
	struct kf_buf out = { .max = JINJA_TEXT_BYTES };
	struct iter iter = jinja_iter(j, v);

	for (size_t n = 0; !jinja_failed(j); n++) {
		struct value *item = jinja_next(j, &iter);

		if (!item)
			break;
		if (n)
			kf_buf_add(&out, by->u.s.text, by->u.s.len);
		jinja_put_str(j, &out, jinja_path(j, item, args->at[1], NULL));
	}
	return jinja_str_take(j, &out);
}

static struct value *do_sum(struct jinja *j, struct value *v,
			    const struct args *args)
{
	struct value *sum = args->at[1] ? args->at[1] : jinja_int(j, 0);
	struct iter iter = jinja_iter(j, v);

	if (sum->kind == V_STR)
		return jinja_fail(j, "sum cannot add strings; use join");
	while (!jinja_failed(j)) {
		struct value *item = jinja_next(j, &iter);

		if (!item)
			break;
		item = jinja_path(j, item, args->at[0], NULL);
		if (!jinja_failed(j))
			sum = jinja_arith(j, '+', sum, item);
	}
	return sum;
}

static struct value *do_items(struct jinja *j, struct value *v,
			      const struct args *args)
{
	struct value *list = jinja_new(j, V_LIST), *view;

	(void)args;
	if (v->kind == V_UNDEFINED)
		return list;
	if (v->kind != V_DICT)
		return jinja_fail(j, "items wants a mapping, not a %s",
				  jinja_kind_name(v));
	view = jinja_new(j, V_VIEW);
	view->u.view.dict = v;
	view->u.view.what = 'i';
	return jinja_list_of(j, view);
}

static struct value *do_batch(struct jinja *j, struct value *v,
			      const struct args *args)
{
	struct value *rows = jinja_new(j, V_LIST), *row = NULL;
	struct value *fill = args->at[1] ? args->at[1] : &j->none;
	struct iter iter = jinja_iter(j, v);
	bool empty = true;
	int64_t count = 0, size;

	/* Python compares with ==: what is no integer is never reached. */
	size = args->at[0]->kind == V_INT || args->at[0]->kind == V_BOOL ?
		jinja_as_int(j, args->at[0], "batch") : -1;
	row = jinja_new(j, V_LIST);
	while (!jinja_failed(j)) {
		struct value *item = jinja_next(j, &iter);

		if (!item)
			break;
		if (count == size) {
			jinja_push(j, &rows->u.list, row);
			row = jinja_new(j, V_LIST);
			count = 0;
		}
		jinja_push(j, &row->u.list, item);
		count++;
		empty = false;
	}
	if (jinja_failed(j) || empty)
		return rows;
	for (; fill->kind != V_NONE && count < size && jinja_step(j); count++)
		jinja_push(j, &row->u.list, fill);
	jinja_push(j, &rows->u.list, row);
	return rows;
}

static struct value *do_slice(struct jinja *j, struct value *v,
			      const struct args *args)
{
	struct value *columns = jinja_new(j, V_LIST);
	struct value *all = jinja_list_of(j, v), *fill = args->at[1];
	int64_t slices = jinja_as_int(j, args->at[0], "slice's argument");
	int64_t count, each, extra, at = 0;

	if (jinja_failed(j))
		return columns;
	if (!slices)
		return jinja_fail(j, "slice wants at least one slice");
	count = (int64_t)all->u.list.count;
	each = count / slices;
	extra = count % slices;
	for (int64_t s = 0; s < slices && jinja_step(j); s++) {
		struct value *column = jinja_new(j, V_LIST);
		int64_t size = each + (s < extra);

		for (int64_t i = 0; i < size; i++)
			jinja_push(j, &column->u.list, all->u.list.at[at++]);
		if (fill && fill->kind != V_NONE && s >= extra)
			jinja_push(j, &column->u.list, fill);
		jinja_push(j, &columns->u.list, column);
	}
	return columns;
}

const struct jinja_filter jinja_filters_list[] = {
	{ "batch", "linecount,fill_with", 1, true, do_batch },
	{ "count", "", 0, false, do_length },
	{ "first", "", 0, false, do_first },
	{ "items", "", 0, true, do_items },
	{ "join", "d,attribute", 0, false, do_join },
	{ "last", "", 0, false, do_last },
	{ "length", "", 0, false, do_length },
	{ "list", "", 0, false, do_list },
	{ "reverse", "", 0, false, do_reverse },
	{ "slice", "slices,fill_with", 1, true, do_slice },
	{ "sum", "attribute,start", 0, false, do_sum },
	{ .name = NULL },
};
