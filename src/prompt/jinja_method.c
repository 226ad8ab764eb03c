/* Methods of strings, lists and dicts that templates call. */
#include "prompt/jinja_internal.h"

typedef struct value *method_fn(struct jinja *j, struct value *self,
				const struct args *args);

struct method {
	const char *name;
	const char *parameters;
	unsigned required;
	method_fn *call;
};

static struct value *text_arg(struct jinja *j, const struct args *args,
			      size_t i)
{
	struct value *v = args->at[i];

	if (v->kind == V_STR)
		return v;
	jinja_fail(j, "a string is wanted, not a %s", jinja_kind_name(v));
	return &j->empty;
}

static int64_t int_arg(struct jinja *j, const struct args *args, size_t i,
		       int64_t otherwise)
{
	return args->at[i] ? jinja_as_int(j, args->at[i], "an argument") :
			     otherwise;
}

/* --- strings --------------------------------------------------------- */

static struct value *str_upper(struct jinja *j, struct value *self,
			       const struct args *args)
{
	(void)args;
	return jinja_upper(j, self);
}

static struct value *str_lower(struct jinja *j, struct value *self,
			       const struct args *args)
{
	(void)args;
	return jinja_lower(j, self);
}

static struct value *str_capitalize(struct jinja *j, struct value *self,
				    const struct args *args)
{
	(void)args;
	return jinja_capitalize(j, self);
}

static struct value *chars_arg(struct jinja *j, const struct args *args)
{
	return args->at[0] ? args->at[0] : &j->none;
}

static struct value *str_strip(struct jinja *j, struct value *self,
			       const struct args *args)
{
	return jinja_strip(j, self, chars_arg(j, args), true, true);
}

static struct value *str_lstrip(struct jinja *j, struct value *self,
				const struct args *args)
{
	return jinja_strip(j, self, chars_arg(j, args), true, false);
}

static struct value *str_rstrip(struct jinja *j, struct value *self,
				const struct args *args)
{
	return jinja_strip(j, self, chars_arg(j, args), false, true);
}

static void push_part(struct jinja *j, struct value *list,
		      const struct value *self, size_t from, size_t to)
{
	jinja_push(j, &list->u.list,
		   jinja_str_like(j, self, self->u.s.text + from, to - from));
}

static struct value *split_space(struct jinja *j, struct value *self,
				 int64_t max)
{
	struct value *list = jinja_new(j, V_LIST);
	size_t len = self->u.s.len, width;
	size_t at = jinja_skip_space(self->u.s.text, len, 0);

	while (at < len && jinja_step(j)) {
		size_t end = at;

		if (max-- == 0) {
			push_part(j, list, self, at, len);
			break;
		}
		while (end < len &&
		       !jinja_is_space(jinja_char_at(self->u.s.text + end,
						     len - end, &width)))
			end += width;
		push_part(j, list, self, at, end);
		at = jinja_skip_space(self->u.s.text, len, end);
	}
	return list;
}

static struct value *str_split(struct jinja *j, struct value *self,
			       const struct args *args)
{
	struct value *list = jinja_new(j, V_LIST), *sep = args->at[0];
	int64_t max = int_arg(j, args, 1, -1);
	size_t at = 0, hit;

	if (jinja_failed(j))
		return list;
	if (!sep || sep->kind == V_NONE)
		return split_space(j, self, max);
	if (sep->kind != V_STR || !sep->u.s.len)
		return jinja_fail(j, "split wants a string that is not empty");
	while (max-- != 0 && jinja_step(j)) {
		hit = jinja_find(self, sep, at);
		if (hit == SIZE_MAX)
			break;
		push_part(j, list, self, at, hit);
		at = hit + sep->u.s.len;
	}
	push_part(j, list, self, at, self->u.s.len);
	return list;
}

static struct value *str_splitlines(struct jinja *j, struct value *self,
				    const struct args *args)
{
	struct value *lines = jinja_splitlines(j, self);

	(void)args;
	for (size_t i = 0; i < lines->u.list.count; i++)
		lines->u.list.at[i]->u.s.safe = self->u.s.safe;
	return lines;
}

static struct value *str_join(struct jinja *j, struct value *self,
			      const struct args *args)
{
	struct kf_buf out = { .max = JINJA_TEXT_BYTES };
	struct iter iter = jinja_iter(j, args->at[0]);
	struct value *v;

	for (size_t n = 0; !jinja_failed(j); n++) {
		struct value *item = jinja_next(j, &iter);

		if (!item)
			break;
		if (self->u.s.safe)
			item = jinja_escape(j, item);
		if (item->kind != V_STR)
			jinja_fail(j, "join wants strings, not a %s",
				   jinja_kind_name(item));
		if (n)
			kf_buf_add(&out, self->u.s.text, self->u.s.len);
		jinja_put_str(j, &out, item);
	}
	v = jinja_str_take(j, &out);
	return jinja_str_like(j, self, v->u.s.text, v->u.s.len);
}

/* Does text lie at the begin (or the end) of self? */
static bool has_affix(const struct value *self, const struct value *text,
		      bool end)
{
	size_t len = text->u.s.len;

	return self->u.s.len >= len &&
		!memcmp(self->u.s.text + (end ? self->u.s.len - len : 0),
			text->u.s.text, len);
}

static struct value *affix(struct jinja *j, struct value *self,
			   const struct args *args, bool end)
{
	struct value *v = args->at[0];
	bool hit = false;

	if (v->kind != V_TUPLE)
		return jinja_bool(j, has_affix(self, text_arg(j, args, 0),
					       end));
	for (size_t i = 0; i < v->u.list.count && !hit; i++) {
		if (v->u.list.at[i]->kind != V_STR)
			return jinja_fail(j, "a string is wanted, not a %s",
					  jinja_kind_name(v->u.list.at[i]));
		hit = has_affix(self, v->u.list.at[i], end);
	}
	return jinja_bool(j, hit);
}

static struct value *str_startswith(struct jinja *j, struct value *self,
				    const struct args *args)
{
	return affix(j, self, args, false);
}

static struct value *str_endswith(struct jinja *j, struct value *self,
				  const struct args *args)
{
	return affix(j, self, args, true);
}

static struct value *remove_affix(struct jinja *j, struct value *self,
				  const struct args *args, bool end)
{
	struct value *text = text_arg(j, args, 0);
	size_t len = text->u.s.len;

	if (!has_affix(self, text, end))
		return self;
	return jinja_str_like(j, self, self->u.s.text + (end ? 0 : len),
			      self->u.s.len - len);
}

static struct value *str_removeprefix(struct jinja *j, struct value *self,
				      const struct args *args)
{
	return remove_affix(j, self, args, false);
}

static struct value *str_removesuffix(struct jinja *j, struct value *self,
				      const struct args *args)
{
	return remove_affix(j, self, args, true);
}

static struct value *str_replace(struct jinja *j, struct value *self,
				 const struct args *args)
{
	struct value *old = text_arg(j, args, 0), *new = text_arg(j, args, 1);
	int64_t count = int_arg(j, args, 2, -1);
	struct value *v;

	if (self->u.s.safe) {
		old = jinja_escape(j, old);
		new = jinja_escape(j, new);
	}
	v = jinja_replace(j, self, old, new, count);
	return jinja_str_like(j, self, v->u.s.text, v->u.s.len);
}

static struct value *str_find(struct jinja *j, struct value *self,
			      const struct args *args)
{
	size_t hit = jinja_find(self, text_arg(j, args, 0), 0);

	return jinja_int(j, hit == SIZE_MAX ? -1 :
			 (int64_t)jinja_char_count(self->u.s.text, hit));
}

static struct value *str_count(struct jinja *j, struct value *self,
			       const struct args *args)
{
	struct value *text = text_arg(j, args, 0);
	int64_t count = 0;
	size_t at = 0, hit;

	if (!text->u.s.len)
		return jinja_int(j, jinja_length(j, self) + 1);
	for (;; at = hit + text->u.s.len, count++) {
		hit = jinja_find(self, text, at);
		if (hit == SIZE_MAX)
			return jinja_int(j, count);
	}
}

static struct value *str_center(struct jinja *j, struct value *self,
				const struct args *args)
{
	return jinja_pad(j, self, int_arg(j, args, 0, 0), 'c');
}

static struct value *str_ljust(struct jinja *j, struct value *self,
			       const struct args *args)
{
	return jinja_pad(j, self, int_arg(j, args, 0, 0), 'l');
}

static struct value *str_rjust(struct jinja *j, struct value *self,
			       const struct args *args)
{
	return jinja_pad(j, self, int_arg(j, args, 0, 0), 'r');
}

static struct value *str_isdigit(struct jinja *j, struct value *self,
				 const struct args *args)
{
	(void)args;
	return jinja_bool(j, self->u.s.len && strspn(self->u.s.text,
			  "0123456789") == self->u.s.len);
}

/* --- lists and tuples ------------------------------------------------ */

static struct value *list_append(struct jinja *j, struct value *self,
				 const struct args *args)
{
	jinja_push(j, &self->u.list, args->at[0]);
	return &j->none;
}

static struct value *list_extend(struct jinja *j, struct value *self,
				 const struct args *args)
{
	struct value *more = jinja_list_of(j, args->at[0]);

	for (size_t i = 0; !jinja_failed(j) && i < more->u.list.count; i++)
		jinja_push(j, &self->u.list, more->u.list.at[i]);
	return &j->none;
}

static struct value *list_count(struct jinja *j, struct value *self,
				const struct args *args)
{
	int64_t count = 0;

	for (size_t i = 0; i < self->u.list.count && !jinja_failed(j); i++)
		count += jinja_equal(j, self->u.list.at[i], args->at[0]);
	return jinja_int(j, count);
}

static struct value *list_index(struct jinja *j, struct value *self,
				const struct args *args)
{
	for (size_t i = 0; i < self->u.list.count && !jinja_failed(j); i++)
		if (jinja_equal(j, self->u.list.at[i], args->at[0]))
			return jinja_int(j, (int64_t)i);
	return jinja_fail(j, "index: the item is not in the list");
}

static struct value *list_pop(struct jinja *j, struct value *self,
			      const struct args *args)
{
	struct list *list = &self->u.list;
	int64_t count = (int64_t)list->count, at = int_arg(j, args, 0, -1);
	struct value *v;

	at = at < 0 ? at + count : at;
	if (at < 0 || at >= count)
		return jinja_fail(j, "pop: no such item");
	v = list->at[at];
	memmove(list->at + at, list->at + at + 1,
		(size_t)(count - at - 1) * sizeof(list->at[0]));
	list->count--;
	return v;
}

/* --- ranges ---------------------------------------------------------- */

static struct value *range_count(struct jinja *j, struct value *self,
				 const struct args *args)
{
	return jinja_int(j, jinja_contains(j, self, args->at[0]));
}

static struct value *range_index(struct jinja *j, struct value *self,
				 const struct args *args)
{
	if (!jinja_contains(j, self, args->at[0]))
		return jinja_fail(j, "index: the item is not in the range");
	return jinja_int(j, ((int64_t)jinja_as_double(args->at[0]) -
			     self->u.range.start) / self->u.range.step);
}

/* --- dicts ----------------------------------------------------------- */

static struct value *view(struct jinja *j, struct value *self, char what)
{
	struct value *v = jinja_new(j, V_VIEW);

	v->u.view.dict = self;
	v->u.view.what = what;
	return v;
}

static struct value *dict_items(struct jinja *j, struct value *self,
				const struct args *args)
{
	(void)args;
	return view(j, self, 'i');
}

static struct value *dict_keys(struct jinja *j, struct value *self,
			       const struct args *args)
{
	(void)args;
	return view(j, self, 'k');
}

static struct value *dict_values(struct jinja *j, struct value *self,
				 const struct args *args)
{
	(void)args;
	return view(j, self, 'v');
}

static struct value *dict_get(struct jinja *j, struct value *self,
			      const struct args *args)
{
	struct value *v = NULL;

	if (args->at[0]->kind == V_UNDEFINED &&
	    !args->at[0]->u.undefined.lenient)
		return jinja_undefined_used(j, args->at[0]);
	if (!jinja_hashable(args->at[0]))
		return jinja_fail(j, "a %s cannot be the key of a dict",
				  jinja_kind_name(args->at[0]));
	v = jinja_dict_get(j, &self->u.dict, args->at[0]);
	return v ? v : args->at[1] ? args->at[1] : &j->none;
}

static struct value *dict_update(struct jinja *j, struct value *self,
				 const struct args *args)
{
	const struct value *more = args->at[0];

	if (more->kind != V_DICT)
		return jinja_fail(j, "update wants a dict");
	for (size_t i = 0; i < more->u.dict.count && !jinja_failed(j); i++)
		jinja_dict_set(j, &self->u.dict, more->u.dict.at[i].key,
			       more->u.dict.at[i].value);
	return &j->none;
}

/* --- tables ---------------------------------------------------------- */

static const struct method str_methods[] = {
	{ "upper", "", 0, str_upper }, { "lower", "", 0, str_lower },
	{ "capitalize", "", 0, str_capitalize },
	{ "strip", "chars", 0, str_strip },
	{ "lstrip", "chars", 0, str_lstrip },
	{ "rstrip", "chars", 0, str_rstrip },
	{ "split", "sep,maxsplit", 0, str_split },
	{ "splitlines", "", 0, str_splitlines },
	{ "join", "items", 1, str_join },
	{ "startswith", "prefix", 1, str_startswith },
	{ "endswith", "suffix", 1, str_endswith },
	{ "removeprefix", "prefix", 1, str_removeprefix },
	{ "removesuffix", "suffix", 1, str_removesuffix },
	{ "replace", "old,new,count", 2, str_replace },
	{ "find", "text", 1, str_find }, { "count", "text", 1, str_count },
	{ "center", "width", 1, str_center },
	{ "ljust", "width", 1, str_ljust },
	{ "rjust", "width", 1, str_rjust }, { "isdigit", "", 0, str_isdigit },
	{ .name = NULL },
};

static const struct method list_methods[] = {
	{ "count", "item", 1, list_count }, { "index", "item", 1, list_index },
	{ "append", "item", 1, list_append },
	{ "extend", "items", 1, list_extend }, { "pop", "index", 0, list_pop },
	{ .name = NULL },
};

static const struct method range_methods[] = {
	{ "count", "item", 1, range_count },
	{ "index", "item", 1, range_index },
	{ .name = NULL },
};

static const struct method dict_methods[] = {
	{ "items", "", 0, dict_items }, { "keys", "", 0, dict_keys },
	{ "values", "", 0, dict_values }, { "get", "key,default", 1, dict_get },
	{ "update", "other", 1, dict_update },
	{ .name = NULL },
};

static const struct method *find(const struct value *v, const char *name)
{
	static const struct method *const table[] = {
		[V_STR] = str_methods, [V_LIST] = list_methods,
		[V_TUPLE] = list_methods, [V_DICT] = dict_methods,
		[V_RANGE] = range_methods,
	};
	const struct method *at = (size_t)v->kind < KF_COUNT(table) ?
				  table[v->kind] : NULL;

	for (; at && at->name; at++)
		if (!strcmp(at->name, name))
			return v->kind == V_TUPLE && at >= list_methods + 2 ?
				NULL : at;
	return NULL;
}

bool jinja_has_method(const struct value *v, const char *name)
{
	return find(v, name) != NULL;
}

struct value *jinja_call_method(struct jinja *j, struct value *self,
				const char *name, const struct args *args)
{
	const struct method *method = find(self, name);
	struct args *bound = jinja_alloc(j, sizeof(*bound));

	if (self->kind == V_LOOP)
		return jinja_loop_call(j, self->u.loop, name, args);
	/* Found when the method was looked up; a value keeps its kind. */
	if (!method)
		return jinja_fail(j, "%s cannot be called", name);
	if (!jinja_bind(j, name, method->parameters, method->required, args,
			bound))
		return &j->none;
	return method->call(j, self, bound);
}
