/* Filters that choose, order or change the items of a sequence. */
#include "prompt/jinja_internal.h"

/* --- keys ------------------------------------------------------------ */

static struct value *ignore_case(struct jinja *j, struct value *v)
{
	return v->kind == V_STR ? jinja_lower(j, v) : v;
}

struct key {
	struct value *path;	/* NULL or None: the item itself */
	struct value *otherwise;
	bool case_sensitive;
};

static struct value *key_of(struct jinja *j, const struct key *key,
			    struct value *item)
{
	struct value *v = jinja_path(j, item, key->path, key->otherwise);

	return key->case_sensitive || jinja_failed(j) ? v : ignore_case(j, v);
}

/* "a,b.c" gives a list of two keys; ordering lists orders by each in turn. */
static struct value *keys_of(struct jinja *j, const struct key *key,
			     struct value *item)
{
	struct value *list = jinja_new(j, V_LIST);
	struct key one = *key;
	const char *at;

	if (!key->path || key->path->kind != V_STR) {
		jinja_push(j, &list->u.list, key_of(j, key, item));
		return list;
	}
	for (at = key->path->u.s.text; at && !jinja_failed(j);) {
		size_t len = strcspn(at, ",");

		one.path = jinja_str(j, at, len);
		jinja_push(j, &list->u.list, key_of(j, &one, item));
		at = at[len] ? at + len + 1 : NULL;
	}
	return list;
}

static bool truth_arg(struct jinja *j, const struct args *args, size_t i)
{
	return args->at[i] && jinja_truth(j, args->at[i]);
}

/* --- order ----------------------------------------------------------- */

struct keyed { struct value *key, *item; };

/* Stable: merges two sorted halves, the left one first where equal. */
static void merge_sort(struct jinja *j, struct keyed *at, struct keyed *spare,
		       size_t count)
{
	size_t half = count / 2, left = 0, right = half;

	if (count < 2 || !jinja_step(j))
		return;
	merge_sort(j, at, spare, half);
	merge_sort(j, at + half, spare, count - half);
	memcpy(spare, at, count * sizeof(at[0]));
	for (size_t i = 0; i < count; i++) {
		bool take_right;

		if (left == half)
			take_right = true;
		else if (right == count)
			take_right = false;
		else
			take_right = jinja_order(j, '<', spare[right].key,
						 spare[left].key);
		at[i] = spare[take_right ? right++ : left++];
	}
}

static void turn_around(struct keyed *at, size_t count)
{
	for (size_t i = 0, k = count; i + 1 < k; i++) {
		struct keyed swap = at[i];

		at[i] = at[--k];
		at[k] = swap;
	}
}

/* reverse keeps the order of equal items, as Python does. */
static void sort(struct jinja *j, struct keyed *at, size_t count, bool reverse)
{
	struct keyed *spare = jinja_alloc(j, (count + 1) * sizeof(at[0]));

	if (reverse)
		turn_around(at, count);
	merge_sort(j, at, spare, count);
	if (reverse)
		turn_around(at, count);
}

static struct value *sorted(struct jinja *j, struct value *list,
			    const struct key *key, bool many, bool reverse)
{
	size_t count = list->u.list.count;
	struct keyed *at = jinja_alloc(j, (count + 1) * sizeof(at[0]));
	struct value *out = jinja_new(j, V_LIST);

	for (size_t i = 0; i < count && !jinja_failed(j); i++) {
		at[i].item = list->u.list.at[i];
		at[i].key = many ? keys_of(j, key, at[i].item) :
				   key_of(j, key, at[i].item);
	}
	if (jinja_failed(j))
		return out;
	sort(j, at, count, reverse);
	for (size_t i = 0; i < count && !jinja_failed(j); i++)
		jinja_push(j, &out->u.list, at[i].item);
	return out;
}

static struct value *do_sort(struct jinja *j, struct value *v,
			     const struct args *args)
{
	struct key key = { args->at[2], NULL, truth_arg(j, args, 1) };
	struct value *list = jinja_list_of(j, v);

	return jinja_failed(j) ? list :
		sorted(j, list, &key, true, truth_arg(j, args, 0));
}

static struct value *do_dictsort(struct jinja *j, struct value *v,
				 const struct args *args)
{
	struct value *by = args->at[1], *view = jinja_new(j, V_VIEW);
	bool by_value = by && by->kind == V_STR &&
			!strcmp(by->u.s.text, "value");
	struct key key = { jinja_int(j, by_value), NULL,
			   truth_arg(j, args, 0) };

	if (by && !by_value &&
	    (by->kind != V_STR || strcmp(by->u.s.text, "key") != 0))
		return jinja_fail(j, "dictsort sorts by \"key\" or \"value\"");
	if (v->kind == V_UNDEFINED)
		return jinja_undefined_used(j, v);
	if (v->kind != V_DICT)
		return jinja_fail(j, "dictsort wants a dict, not a %s",
				  jinja_kind_name(v));
	view->u.view.dict = v;
	view->u.view.what = 'i';
	return sorted(j, jinja_list_of(j, view), &key, false,
		      truth_arg(j, args, 2));
}

static struct value *extreme(struct jinja *j, struct value *v,
			     const struct args *args, int op)
{
	struct key key = { args->at[1], NULL, truth_arg(j, args, 0) };
	struct iter iter = jinja_iter(j, v);
	struct value *best = NULL, *best_key = NULL;

	while (!jinja_failed(j)) {
		struct value *item = jinja_next(j, &iter), *item_key;

		if (!item)
			break;
		item_key = key_of(j, &key, item);
		if (jinja_failed(j))
			break;
		if (best && !jinja_order(j, op, item_key, best_key))
			continue;
		best = item;
		best_key = item_key;
	}
	return best ? best :
		jinja_undefined(j, "no item to choose, the sequence is empty");
}

static struct value *do_min(struct jinja *j, struct value *v,
			    const struct args *args)
{
	return extreme(j, v, args, '<');
}

static struct value *do_max(struct jinja *j, struct value *v,
			    const struct args *args)
{
	return extreme(j, v, args, '>');
}

/* --- groups ---------------------------------------------------------- */

static struct value *do_unique(struct jinja *j, struct value *v,
			       const struct args *args)
{
	struct key key = { args->at[1], NULL, truth_arg(j, args, 0) };
	struct value *out = jinja_new(j, V_LIST);
	struct iter iter = jinja_iter(j, v);
	struct dict seen = { 0 };

	while (!jinja_failed(j)) {
		struct value *item = jinja_next(j, &iter), *item_key;
		size_t before = seen.count;

		if (!item)
			break;
		item_key = key_of(j, &key, item);
		if (jinja_failed(j))
			break;
		jinja_dict_set(j, &seen, item_key, item);
		if (seen.count > before)
			jinja_push(j, &out->u.list, item);
	}
	return out;
}

static struct value *do_groupby(struct jinja *j, struct value *v,
				const struct args *args)
{
	struct key key = { args->at[0], args->at[1], truth_arg(j, args, 2) };
	struct key shown = { args->at[0], args->at[1], true };
	struct value *out = jinja_new(j, V_LIST), *list = jinja_list_of(j, v);
	struct value *last = NULL, *items = NULL;

	if (!jinja_failed(j))
		list = sorted(j, list, &key, false, false);
	for (size_t i = 0; !jinja_failed(j) && i < list->u.list.count; i++) {
		struct value *item = list->u.list.at[i];
		struct value *now = key_of(j, &key, item), *group;

		if (!last || !jinja_equal(j, now, last)) {
			group = jinja_new(j, V_TUPLE);
			group->group = true;
			items = jinja_new(j, V_LIST);
			jinja_push(j, &group->u.list, key_of(j, &shown, item));
			jinja_push(j, &group->u.list, items);
			jinja_push(j, &out->u.list, group);
			last = now;
		}
		jinja_push(j, &items->u.list, item);
	}
	return out;
}

/* --- map, select, reject --------------------------------------------- */

static struct args rest_of(const struct args *args, size_t from)
{
	struct args rest = *args;

	rest.at += from;
	rest.count -= from;
	return rest;
}

/* map(attribute=..., default=...) */
static bool map_attribute(struct jinja *j, const struct args *args,
			  struct key *key)
{
	for (size_t i = 0; i < args->key_count; i++) {
		if (!strcmp(args->key[i], "attribute"))
			key->path = args->value[i];
		else if (!strcmp(args->key[i], "default"))
			key->otherwise = args->value[i];
	}
	if (args->count || !key->path)
		return false;
	for (size_t i = 0; i < args->key_count; i++)
		if (strcmp(args->key[i], "attribute") != 0 &&
		    strcmp(args->key[i], "default") != 0)
			jinja_fail(j, "map knows no argument called %s",
				   args->key[i]);
	return true;
}

static struct value *do_map(struct jinja *j, struct value *v,
			    const struct args *args)
{
	struct value *out = jinja_new(j, V_LIST);
	struct key key = { 0 };
	struct iter iter;
	bool by_attribute;

	if (!jinja_truth(j, v) || jinja_failed(j))
		return out;
	by_attribute = map_attribute(j, args, &key);
	if (!by_attribute && (!args->count || args->at[0]->kind != V_STR))
		return jinja_fail(j, "map wants the name of a filter");
	iter = jinja_iter(j, v);
	while (!jinja_failed(j)) {
		struct value *item = jinja_next(j, &iter);
		struct args rest = by_attribute ? *args : rest_of(args, 1);

		if (!item)
			break;
		item = by_attribute ?
			jinja_path(j, item, key.path, key.otherwise) :
			jinja_filter_call(j, args->at[0]->u.s.text, item,
					  &rest);
		if (!jinja_failed(j))
			jinja_push(j, &out->u.list, item);
	}
	return out;
}

static struct value *pick(struct jinja *j, struct value *v,
			  const struct args *args, bool by_attribute, bool want)
{
	struct value *out = jinja_new(j, V_LIST);
	size_t at = by_attribute;
	struct iter iter;

	if (!jinja_truth(j, v) || jinja_failed(j))
		return out;
	if (args->count < at)
		return jinja_fail(j, "the name of an attribute is missing");
	if (args->count > at && args->at[at]->kind != V_STR)
		return jinja_fail(j, "the name of a test is a string");
	iter = jinja_iter(j, v);
	while (!jinja_failed(j)) {
		struct value *item = jinja_next(j, &iter), *subject;
		struct args rest;
		bool passes;

		if (!item)
			break;
		subject = by_attribute ?
			jinja_path(j, item, args->at[0], NULL) : item;
		if (jinja_failed(j))
			break;
		if (args->count > at) {
			rest = rest_of(args, at + 1);
			passes = jinja_test_call(j, args->at[at]->u.s.text,
						 subject, &rest);
		} else {
			passes = jinja_truth(j, subject);
		}
		if (passes == want && !jinja_failed(j))
			jinja_push(j, &out->u.list, item);
	}
	return out;
}

static struct value *do_select(struct jinja *j, struct value *v,
			       const struct args *args)
{
	return pick(j, v, args, false, true);
}

static struct value *do_reject(struct jinja *j, struct value *v,
			       const struct args *args)
{
	return pick(j, v, args, false, false);
}

static struct value *do_selectattr(struct jinja *j, struct value *v,
				   const struct args *args)
{
	return pick(j, v, args, true, true);
}

static struct value *do_rejectattr(struct jinja *j, struct value *v,
				   const struct args *args)
{
	return pick(j, v, args, true, false);
}

const struct jinja_filter jinja_filters_pick[] = {
	{ "dictsort", "case_sensitive,by,reverse", 0, false, do_dictsort },
	{ "groupby", "attribute,default,case_sensitive", 1, false, do_groupby },
	{ "map", "*", 0, true, do_map },
	{ "max", "case_sensitive,attribute", 0, false, do_max },
	{ "min", "case_sensitive,attribute", 0, false, do_min },
	{ "reject", "*", 0, true, do_reject },
	{ "rejectattr", "*", 0, true, do_rejectattr },
	{ "select", "*", 0, true, do_select },
	{ "selectattr", "*", 0, true, do_selectattr },
	{ "sort", "reverse,case_sensitive,attribute", 0, false, do_sort },
	{ "unique", "case_sensitive,attribute", 0, true, do_unique },
	{ .name = NULL },
};
