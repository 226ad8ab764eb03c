#include "prompt/jinja_internal.h"

/* --- memory ---------------------------------------------------------- */

struct chunk {
	struct chunk *next;
	size_t size, used;
	_Alignas(16) unsigned char at[];
};

#define CHUNK_BYTES (64u << 10)

void *jinja_alloc(struct jinja *j, size_t size_bytes)
{
	struct chunk *chunk = j->chunks;
	size_t need = (size_bytes + 15) & ~(size_t)15;
	void *memory;

	if (!chunk || chunk->size - chunk->used < need) {
		size_t size = need > CHUNK_BYTES ? need : CHUNK_BYTES;

		chunk = kf_alloc(sizeof(*chunk) + size);
		chunk->size = size;
		chunk->next = j->chunks;
		j->chunks = chunk;
		j->memory_bytes += size;
		if (j->memory_bytes > JINJA_MEMORY_BYTES)
			jinja_limit(j, "the template uses more than %u MiB",
				    JINJA_MEMORY_BYTES >> 20);
	}
	memory = chunk->at + chunk->used;
	chunk->used += need;
	return memory;
}

void jinja_free_all(struct jinja *j)
{
	while (j->chunks) {
		struct chunk *next = j->chunks->next;

		free(j->chunks);
		j->chunks = next;
	}
}

char *jinja_copy(struct jinja *j, const char *text, size_t len)
{
	char *copy = jinja_alloc(j, len + 1);

	if (len)
		memcpy(copy, text, len);
	copy[len] = '\0';
	return copy;
}

/* --- failures -------------------------------------------------------- */

static void KF_PRINTF(3, 0) fail(struct jinja *j, enum kf_code code,
				 const char *fmt, va_list ap)
{
	char text[sizeof(j->err.text)];

	if (jinja_failed(j))
		return;
	vsnprintf(text, sizeof(text), fmt, ap);
	text[kf_utf8_cut(text, strlen(text))] = '\0';
	kf_fail(&j->err, code, "%.200s:%u: %.800s", j->file, j->line, text);
}

struct value *jinja_fail(struct jinja *j, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fail(j, KF_E_INPUT, fmt, ap);
	va_end(ap);
	return &j->none;
}

struct value *jinja_limit(struct jinja *j, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fail(j, KF_E_LIMIT, fmt, ap);
	va_end(ap);
	return &j->none;
}

bool jinja_step(struct jinja *j)
{
	if (++j->steps > JINJA_STEPS)
		jinja_limit(j, "more than %u turns of loops and calls",
			    JINJA_STEPS);
	return !jinja_failed(j);
}

bool jinja_enter(struct jinja *j)
{
	if (++j->depth > JINJA_DEPTH)
		jinja_limit(j, "nested more than %u deep", JINJA_DEPTH);
	return !jinja_failed(j);
}

void jinja_leave(struct jinja *j)
{
	j->depth--;
}

/* --- making values --------------------------------------------------- */

struct value *jinja_new(struct jinja *j, enum value_kind kind)
{
	struct value *v = jinja_alloc(j, sizeof(*v));

	v->kind = kind;
	return v;
}

struct value *jinja_bool(struct jinja *j, bool b)
{
	return b ? &j->yes : &j->no;
}

struct value *jinja_int(struct jinja *j, int64_t i)
{
	struct value *v = jinja_new(j, V_INT);

	v->u.i = i;
	return v;
}

struct value *jinja_float(struct jinja *j, double f)
{
	struct value *v = jinja_new(j, V_FLOAT);

	v->u.f = f;
	return v;
}

struct value *jinja_str(struct jinja *j, const char *text, size_t len)
{
	struct value *v = jinja_new(j, V_STR);

	v->u.s.text = jinja_copy(j, text, len);
	v->u.s.len = len;
	return v;
}

struct value *jinja_safe(struct jinja *j, const char *text, size_t len)
{
	struct value *v = jinja_str(j, text, len);

	v->u.s.safe = true;
	return v;
}

struct value *jinja_str_like(struct jinja *j, const struct value *model,
			     const char *text, size_t len)
{
	struct value *v = jinja_str(j, text, len);

	v->u.s.safe = model->kind == V_STR && model->u.s.safe;
	return v;
}

struct value *jinja_str_take(struct jinja *j, struct kf_buf *buf)
{
	struct value *v = &j->empty;

	if (buf->len >= buf->max)
		jinja_limit(j, "a text of more than %u MiB",
			    JINJA_TEXT_BYTES >> 20);
	else if (!jinja_failed(j))
		v = jinja_str(j, kf_buf_str(buf), buf->len);
	kf_buf_release(buf);
	return v;
}

struct value *jinja_undefined(struct jinja *j, const char *fmt, ...)
{
	struct value *v = jinja_new(j, V_UNDEFINED);
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	v->u.undefined.hint = jinja_copy(j, text,
					 kf_utf8_cut(text, strlen(text)));
	return v;
}

struct value *jinja_method(struct jinja *j, struct value *self,
			   const char *name)
{
	struct value *v = jinja_new(j, V_METHOD);

	v->u.method.self = self;
	v->u.method.name = name;
	return v;
}

static struct value *from_array(struct jinja *j, const json_t *json)
{
	struct value *v = jinja_new(j, V_LIST);

	for (size_t i = 0; i < json_array_size(json) && !jinja_failed(j); i++)
		jinja_push(j, &v->u.list,
			   jinja_from_json(j, json_array_get(json, i)));
	return v;
}

static struct value *from_object(struct jinja *j, const json_t *json)
{
	struct value *v = jinja_new(j, V_DICT);
	/* jansson's iterators take no const, and change nothing. */
	json_t *object = (json_t *)(uintptr_t)json;
	void *at = json_object_iter(object);

	for (; at && !jinja_failed(j); at = json_object_iter_next(object, at))
		jinja_dict_put(j, &v->u.dict, json_object_iter_key(at),
			       jinja_from_json(j, json_object_iter_value(at)));
	return v;
}

struct value *jinja_from_json(struct jinja *j, const json_t *json)
{
	struct value *v = &j->none;

	if (!jinja_enter(j)) {
		jinja_leave(j);
		return v;
	}
	switch (json ? json_typeof(json) : JSON_NULL) {
	case JSON_OBJECT:
		v = from_object(j, json);
		break;
	case JSON_ARRAY:
		v = from_array(j, json);
		break;
	case JSON_STRING:
		v = jinja_str(j, json_string_value(json),
			      json_string_length(json));
		break;
	case JSON_INTEGER:
		v = jinja_int(j, json_integer_value(json));
		break;
	case JSON_REAL:
		v = jinja_float(j, json_real_value(json));
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		v = jinja_bool(j, json_is_true(json));
		break;
	case JSON_NULL:
		break;
	}
	jinja_leave(j);
	return v;
}

const char *jinja_kind_name(const struct value *v)
{
	static const char *const name[] = {
		[V_NONE] = "None", [V_BOOL] = "bool", [V_INT] = "int",
		[V_FLOAT] = "float", [V_STR] = "str", [V_LIST] = "list",
		[V_TUPLE] = "tuple", [V_DICT] = "dict", [V_RANGE] = "range",
		[V_VIEW] = "dict view", [V_GEN] = "generator",
		[V_NAMESPACE] = "namespace", [V_MACRO] = "macro",
		[V_LOOP] = "loop", [V_MODULE] = "template",
		[V_BLOCK] = "block", [V_SELF] = "self",
		[V_FUNCTION] = "function", [V_METHOD] = "method",
		[V_UNDEFINED] = "undefined value",
	};

	return name[v->kind];
}

/* --- lists and dicts ------------------------------------------------- */

void jinja_push(struct jinja *j, struct list *list, struct value *item)
{
	if (list->count >= JINJA_ITEMS) {
		jinja_limit(j, "a list of more than %u items", JINJA_ITEMS);
		return;
	}
	if (list->count == list->cap) {
		size_t cap = list->cap ? 2 * list->cap : 8;
		struct value **at = jinja_alloc(j, cap * sizeof(at[0]));

		if (list->count)
			memcpy(at, list->at, list->count * sizeof(at[0]));
		list->at = at;
		list->cap = cap;
	}
	list->at[list->count++] = item;
}

bool jinja_hashable(const struct value *key)
{
	if (key->kind == V_LIST || key->kind == V_DICT ||
	    (key->kind == V_UNDEFINED && !key->u.undefined.lenient))
		return false;
	if (key->kind == V_VIEW && key->u.view.what != 'v')
		return false;
	for (size_t i = 0; key->kind == V_TUPLE && i < key->u.list.count; i++)
		if (!jinja_hashable(key->u.list.at[i]))
			return false;
	return true;
}

static struct pair *find(struct jinja *j, const struct dict *dict,
			 const struct value *key)
{
	for (size_t i = 0; i < dict->count; i++) {
		struct value *have = dict->at[i].key;

		if (have->kind == V_STR && key->kind == V_STR &&
		    have->u.s.len != key->u.s.len)
			continue;
		if (have == key || jinja_equal(j, have, key))
			return &dict->at[i];
	}
	return NULL;
}

struct value *jinja_dict_get(struct jinja *j, const struct dict *dict,
			     const struct value *key)
{
	struct pair *pair = find(j, dict, key);

	return pair ? pair->value : NULL;
}

struct value *jinja_dict_find(const struct dict *dict, const char *key)
{
	size_t len = strlen(key);

	for (size_t i = 0; i < dict->count; i++) {
		const struct value *have = dict->at[i].key;

		if (have->kind == V_STR && have->u.s.len == len &&
		    !memcmp(have->u.s.text, key, len))
			return dict->at[i].value;
	}
	return NULL;
}

static void append(struct jinja *j, struct dict *dict, struct value *key,
		   struct value *value)
{
	if (dict->count >= JINJA_ITEMS) {
		jinja_limit(j, "a dict of more than %u items", JINJA_ITEMS);
		return;
	}
	if (dict->count == dict->cap) {
		size_t cap = dict->cap ? 2 * dict->cap : 8;
		struct pair *at = jinja_alloc(j, cap * sizeof(at[0]));

		if (dict->count)
			memcpy(at, dict->at, dict->count * sizeof(at[0]));
		dict->at = at;
		dict->cap = cap;
	}
	dict->at[dict->count++] = (struct pair) { key, value };
}

void jinja_dict_set(struct jinja *j, struct dict *dict, struct value *key,
		    struct value *value)
{
	struct pair *pair;

	if (!jinja_hashable(key)) {
		if (key->kind == V_UNDEFINED)
			jinja_undefined_used(j, key);
		else
			jinja_fail(j, "a %s cannot be the key of a dict",
				   jinja_kind_name(key));
		return;
	}
	if (!jinja_step(j))
		return;
	pair = find(j, dict, key);
	if (pair)
		pair->value = value;
	else
		append(j, dict, key, value);
}

void jinja_dict_put(struct jinja *j, struct dict *dict, const char *key,
		    struct value *value)
{
	jinja_dict_set(j, dict, jinja_str(j, key, strlen(key)), value);
}
