/* The tojson filter: json.dumps(sort_keys=True), safe inside HTML. */
#include "prompt/jinja_internal.h"

#include <math.h>

struct dump {
	struct jinja *j;
	struct kf_buf out;
	const char *indent;	/* NULL: one line */
	unsigned level;
};

static void put_value(struct dump *d, struct value *v);

static void put_unit(struct dump *d, unsigned unit)
{
	kf_buf_printf(&d->out, "\\u%04x", unit);
}

static void put_char(struct dump *d, uint32_t point)
{
	static const char plain[] = "\n\r\t\b\f\\\"", name[] = "nrtbf\\\"";
	const char *at = point && point < 128 ?
			 strchr(plain, (int)point) : NULL;
	char c = (char)point;

	if (at) {
		kf_buf_printf(&d->out, "\\%c", name[at - plain]);
	} else if (point >= 0x10000) {
		put_unit(d, 0xd800 + ((point - 0x10000) >> 10));
		put_unit(d, 0xdc00 + ((point - 0x10000) & 0x3ff));
	} else if (point < 32 || point > 126 ||
		   strchr("<>&'", (int)point)) {
		put_unit(d, point);
	} else {
		kf_buf_add(&d->out, &c, 1);
	}
}

static void put_text(struct dump *d, const struct value *s)
{
	size_t width;

	kf_buf_puts(&d->out, "\"");
	for (size_t i = 0; i < s->u.s.len; i += width)
		put_char(d, jinja_char_at(s->u.s.text + i, s->u.s.len - i,
					  &width));
	kf_buf_puts(&d->out, "\"");
}

static void put_scalar(struct dump *d, struct value *v)
{
	switch (v->kind) {
	case V_NONE:
		kf_buf_puts(&d->out, "null");
		break;
	case V_BOOL:
		kf_buf_puts(&d->out, v->u.b ? "true" : "false");
		break;
	case V_INT:
		kf_buf_printf(&d->out, "%lld", (long long)v->u.i);
		break;
	case V_FLOAT:
		if (isnan(v->u.f))
			kf_buf_puts(&d->out, "NaN");
		else if (isinf(v->u.f))
			kf_buf_puts(&d->out, v->u.f > 0 ? "Infinity" :
				    "-Infinity");
		else
			jinja_put_float(&d->out, v->u.f);
		break;
	default:
		jinja_fail(d->j, "a %s has no JSON form", jinja_kind_name(v));
	}
}

static void put_break(struct dump *d)
{
	if (!d->indent)
		return;
	kf_buf_puts(&d->out, "\n");
	for (unsigned i = 0; i < d->level; i++)
		kf_buf_puts(&d->out, d->indent);
}

static void put_comma(struct dump *d)
{
	kf_buf_puts(&d->out, d->indent ? "," : ", ");
	put_break(d);
}

static void put_list(struct dump *d, const struct list *list)
{
	kf_buf_puts(&d->out, "[");
	d->level++;
	for (size_t i = 0; i < list->count && jinja_step(d->j); i++) {
		if (i)
			put_comma(d);
		else
			put_break(d);
		put_value(d, list->at[i]);
	}
	d->level--;
	if (list->count)
		put_break(d);
	kf_buf_puts(&d->out, "]");
}

static void put_key(struct dump *d, struct value *key)
{
	if (key->kind == V_STR) {
		put_text(d, key);
	} else if (key->kind == V_TUPLE) {
		jinja_fail(d->j, "a tuple cannot be a key in JSON");
	} else {
		kf_buf_puts(&d->out, "\"");
		put_scalar(d, key);
		kf_buf_puts(&d->out, "\"");
	}
}

static void put_dict(struct dump *d, struct value *v)
{
	struct value *list = jinja_new(d->j, V_LIST), *sorted;
	struct args no_args = { 0 };

	for (size_t i = 0; i < v->u.dict.count; i++) {
		struct value *pair = jinja_new(d->j, V_TUPLE);

		jinja_push(d->j, &pair->u.list, v->u.dict.at[i].key);
		jinja_push(d->j, &pair->u.list, jinja_int(d->j, (int64_t)i));
		jinja_push(d->j, &list->u.list, pair);
	}
	/* Sorted by key alone: keys differ, so the index never decides. */
	no_args.key = (const char *[]) { "case_sensitive" };
	no_args.value = (struct value *[]) { &d->j->yes };
	no_args.key_count = 1;
	sorted = jinja_filter_call(d->j, "sort", list, &no_args);
	kf_buf_puts(&d->out, "{");
	d->level++;
	for (size_t i = 0; i < v->u.dict.count && jinja_step(d->j); i++) {
		struct value *pair = sorted->u.list.at[i];

		if (i)
			put_comma(d);
		else
			put_break(d);
		put_key(d, pair->u.list.at[0]);
		kf_buf_puts(&d->out, ": ");
		put_value(d, v->u.dict.at[pair->u.list.at[1]->u.i].value);
	}
	d->level--;
	if (v->u.dict.count)
		put_break(d);
	kf_buf_puts(&d->out, "}");
}

static void put_value(struct dump *d, struct value *v)
{
	if (!jinja_enter(d->j)) {
		jinja_leave(d->j);
		return;
	}
	if (v->kind == V_STR)
		put_text(d, v);
	else if (v->kind == V_LIST || v->kind == V_TUPLE)
		put_list(d, &v->u.list);
	else if (v->kind == V_DICT)
		put_dict(d, v);
	else
		put_scalar(d, v);
	jinja_leave(d->j);
}

struct value *jinja_filter_tojson(struct jinja *j, struct value *v,
				  const struct args *args)
{
	struct dump d = { .j = j, .out.max = JINJA_TEXT_BYTES };
	struct value *indent = args->at[0], *text;

	if (indent && indent->kind == V_STR) {
		d.indent = indent->u.s.text;
	} else if (indent && indent->kind != V_NONE) {
		int64_t width = jinja_as_int(j, indent, "indent");

		width = width < 0 ? 0 : width > 64 ? 64 : width;
		d.indent = jinja_pad(j, &j->empty, width, 'l')->u.s.text;
	}
	put_value(&d, v);
	text = jinja_str_take(j, &d.out);
	return jinja_safe(j, text->u.s.text, text->u.s.len);
}
