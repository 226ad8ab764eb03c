/* x.name, x[key], x[a:b:c]. */
#include "prompt/jinja_internal.h"

static struct value *missing(struct jinja *j, const struct value *v,
			     const struct value *key)
{
	if (key->kind == V_STR)
		return jinja_undefined(j, "a %s has no attribute '%.200s'",
				       jinja_kind_name(v), key->u.s.text);
	if (key->kind == V_INT)
		return jinja_undefined(j, "a %s has no element %lld",
				       jinja_kind_name(v),
				       (long long)key->u.i);
	return jinja_undefined(j, "a %s has no such element",
			       jinja_kind_name(v));
}

static struct value *macro_attr(struct jinja *j, const struct macro *macro,
				const char *name)
{
	const struct nodes *kids = &macro->node->kids;
	struct value *v;

	if (!strcmp(name, "name"))
		return macro->name ? jinja_str(j, macro->name,
					       strlen(macro->name)) : &j->none;
	if (!strcmp(name, "catch_kwargs"))
		return jinja_bool(j, macro->node->has_kwargs);
	if (!strcmp(name, "catch_varargs"))
		return jinja_bool(j, macro->node->has_varargs);
	if (!strcmp(name, "caller"))
		return jinja_bool(j, macro->node->has_caller);
	if (strcmp(name, "arguments") != 0)
		return NULL;
	v = jinja_new(j, V_TUPLE);
	for (size_t i = 0; i < kids->count; i++)
		jinja_push(j, &v->u.list,
			   jinja_str(j, kids->at[i]->name,
				     strlen(kids->at[i]->name)));
	return v;
}

static struct value *self_block(struct jinja *j, struct context *context,
				const char *name)
{
	struct value *v;

	if (!jinja_blocks(context, name))
		return NULL;
	v = jinja_new(j, V_BLOCK);
	v->u.block = jinja_alloc(j, sizeof(*v->u.block));
	v->u.block->name = name;
	v->u.block->context = context;
	return v;
}

static struct value *super_of(struct jinja *j, const struct block_ref *block)
{
	const struct block_list *list = jinja_blocks(block->context,
						     block->name);
	struct value *v;

	if (block->depth + 1 >= list->count)
		return jinja_undefined(j, "there is no parent of block %s",
				       block->name);
	v = jinja_new(j, V_BLOCK);
	v->u.block = jinja_alloc(j, sizeof(*v->u.block));
	*v->u.block = *block;
	v->u.block->depth++;
	return v;
}

static struct value *range_attr(struct jinja *j, const struct value *v,
				const char *name)
{
	if (!strcmp(name, "start"))
		return jinja_int(j, v->u.range.start);
	if (!strcmp(name, "stop"))
		return jinja_int(j, v->u.range.stop);
	return strcmp(name, "step") ? NULL : jinja_int(j, v->u.range.step);
}

/* What Python's getattr would give; NULL if nothing. */
static struct value *attribute(struct jinja *j, struct value *v,
			       const char *name)
{
	switch (v->kind) {
	case V_NAMESPACE:
		return jinja_dict_find(&v->u.dict, name);
	case V_MODULE:
		return jinja_dict_find(&v->u.module->exported, name);
	case V_MACRO:
		return macro_attr(j, v->u.macro, name);
	case V_LOOP:
		return jinja_loop_attr(j, v->u.loop, name);
	case V_BLOCK:
		return strcmp(name, "super") ? NULL : super_of(j, v->u.block);
	case V_RANGE:
		if (range_attr(j, v, name))
			return range_attr(j, v, name);
		break;
	case V_TUPLE:
		if (v->group && !strcmp(name, "grouper"))
			return v->u.list.at[0];
		if (v->group && !strcmp(name, "list"))
			return v->u.list.at[1];
		break;
	default:
		break;
	}
	if (jinja_has_method(v, name))
		return jinja_method(j, v, jinja_copy(j, name, strlen(name)));
	return NULL;
}

/* An index from the begin, also for a negative one; -1 outside. */
static int64_t place(int64_t index, int64_t count)
{
	if (index < 0)
		index += count;
	return index < 0 || index >= count ? -1 : index;
}

static struct value *at_index(struct jinja *j, const struct value *v,
			      int64_t index)
{
	int64_t at = place(index, jinja_length(j, v));
	size_t from, to;

	if (at < 0)
		return NULL;
	if (v->kind == V_RANGE)
		return jinja_int(j, v->u.range.start + at * v->u.range.step);
	if (v->kind != V_STR)
		return v->u.list.at[at];
	from = jinja_char_offset(v->u.s.text, v->u.s.len, (size_t)at);
	to = from + jinja_char_offset(v->u.s.text + from, v->u.s.len - from, 1);
	return jinja_str_like(j, v, v->u.s.text + from, to - from);
}

/* What Python's v[key] would give; NULL if it raises. */
static struct value *item(struct jinja *j, struct value *v, struct value *key)
{
	struct value *index = key->kind == V_BOOL ?
		jinja_int(j, key->u.b) : key;

	switch (v->kind) {
	case V_DICT:
		if (key->kind == V_UNDEFINED && !key->u.undefined.lenient) {
			jinja_undefined_used(j, key);
			return NULL;
		}
		return jinja_hashable(key) ?
			jinja_dict_get(j, &v->u.dict, key) : NULL;
	case V_STR:
	case V_LIST:
	case V_TUPLE:
	case V_RANGE:
		return index->kind == V_INT ? at_index(j, v, index->u.i) : NULL;
	case V_SELF:
		return key->kind == V_STR ?
			self_block(j, v->u.self, key->u.s.text) : NULL;
	default:
		return NULL;
	}
}

struct value *jinja_getattr(struct jinja *j, struct value *v, const char *name)
{
	struct value *key, *found;

	if (v->kind == V_UNDEFINED)
		return jinja_undefined_used(j, v);
	found = attribute(j, v, name);
	if (found)
		return found;
	key = jinja_str(j, name, strlen(name));
	found = item(j, v, key);
	return found ? found : missing(j, v, key);
}

struct value *jinja_getitem(struct jinja *j, struct value *v, struct value *key)
{
	struct value *found;

	if (v->kind == V_UNDEFINED)
		return jinja_undefined_used(j, v);
	found = item(j, v, key);
	if (!found && key->kind == V_STR)
		found = attribute(j, v, key->u.s.text);
	return found ? found : missing(j, v, key);
}

struct value *jinja_path(struct jinja *j, struct value *v,
			 struct value *path, struct value *otherwise)
{
	const char *at;

	if (!path || path->kind == V_NONE)
		return v;
	if (path->kind != V_STR)
		at = NULL;
	else
		at = path->u.s.text;
	do {
		struct value *key = path;
		size_t len = at ? strcspn(at, ".") : 0;

		if (at)
			key = jinja_str(j, at, len);
		if (at && len && strspn(at, "0123456789") >= len)
			key = jinja_to_int(j, key, key, 10);
		v = jinja_getitem(j, v, key);
		if (v->kind == V_UNDEFINED && otherwise &&
		    otherwise->kind != V_NONE)
			v = otherwise;
		at = at && at[len] ? at + len + 1 : NULL;
	} while (at && !jinja_failed(j));
	return v;
}

/* --- slices ---------------------------------------------------------- */

static int64_t clamp(int64_t at, int64_t low, int64_t high)
{
	return at < low ? low : at > high ? high : at;
}

/* The bounds as Python's slice.indices gives them. */
static int64_t bound(struct jinja *j, const struct value *v, int64_t count,
		     bool down, int64_t otherwise)
{
	int64_t at;

	if (v->kind == V_NONE)
		return otherwise;
	at = jinja_as_int(j, v, "a slice's bound");
	if (at < 0)
		at = at < -count ? -1 - count : at + count;
	return down ? clamp(at, -1, count - 1) : clamp(at, 0, count);
}

static struct value *slice_text(struct jinja *j, const struct value *s,
				int64_t start, int64_t stop, int64_t step)
{
	struct kf_buf out = { .max = JINJA_TEXT_BYTES };
	struct value *v;

	if (step == 1 && start < stop) {
		size_t from = jinja_char_offset(s->u.s.text, s->u.s.len,
						(size_t)start);
		size_t len = jinja_char_offset(s->u.s.text + from,
					       s->u.s.len - from,
					       (size_t)(stop - start));

		return jinja_str_like(j, s, s->u.s.text + from, len);
	}
	for (int64_t i = start; step > 0 ? i < stop : i > stop; i += step) {
		v = at_index(j, s, i);
		if (!v || !jinja_step(j))
			break;
		kf_buf_add(&out, v->u.s.text, v->u.s.len);
	}
	v = jinja_str_take(j, &out);
	return jinja_str_like(j, s, v->u.s.text, v->u.s.len);
}

static struct value *slice_range(struct jinja *j, const struct value *range,
				 int64_t start, int64_t stop, int64_t step)
{
	struct value *v = jinja_new(j, V_RANGE);

	if (__builtin_mul_overflow(range->u.range.step, step,
				   &v->u.range.step) ||
	    __builtin_mul_overflow(range->u.range.step, start,
				   &v->u.range.start) ||
	    __builtin_mul_overflow(range->u.range.step, stop,
				   &v->u.range.stop) ||
	    __builtin_add_overflow(v->u.range.start, range->u.range.start,
				   &v->u.range.start) ||
	    __builtin_add_overflow(v->u.range.stop, range->u.range.start,
				   &v->u.range.stop))
		return jinja_fail(j, "an integer does not fit into 64 bits");
	return v;
}

struct value *jinja_slice(struct jinja *j, struct value *v,
			  struct value *const part[3])
{
	int64_t count, step, start, stop;
	struct value *result;

	if (v->kind == V_UNDEFINED)
		return jinja_undefined_used(j, v);
	if (v->kind != V_STR && v->kind != V_LIST && v->kind != V_TUPLE &&
	    v->kind != V_RANGE)
		return jinja_fail(j, "a %s cannot be sliced",
				  jinja_kind_name(v));
	step = part[2]->kind == V_NONE ? 1 :
		jinja_as_int(j, part[2], "a slice's step");
	if (!step || jinja_failed(j))
		return jinja_fail(j, "a slice's step cannot be zero");
	count = jinja_length(j, v);
	/* A step beyond the whole is as good, and cannot overflow. */
	step = clamp(step, -count - 1, count + 1);
	start = bound(j, part[0], count, step < 0, step < 0 ? count - 1 : 0);
	stop = bound(j, part[1], count, step < 0, step < 0 ? -1 : count);
	if (jinja_failed(j))
		return &j->none;
	if (v->kind == V_STR)
		return slice_text(j, v, start, stop, step);
	if (v->kind == V_RANGE)
		return slice_range(j, v, start, stop, step);
	result = jinja_new(j, v->kind);
	for (int64_t i = start; step > 0 ? i < stop : i > stop; i += step)
		jinja_push(j, &result->u.list, v->u.list.at[i]);
	return result;
}
