/* Values as text: str(), repr() and json.dumps() of Python. */
#include "prompt/jinja_internal.h"

#include <math.h>

/* The shortest decimal that reads back as the same number. */
static void shortest(double f, char digits[32], int *exponent)
{
	char text[48];
	size_t len = 0;
	double back;

	for (int precision = 0; precision < 17; precision++) {
		snprintf(text, sizeof(text), "%.*e", precision, f);
		if (kf_parse_double(text, &back) && back == f)
			break;
	}
	for (const char *at = text; *at && *at != 'e'; at++)
		if (*at >= '0' && *at <= '9')
			digits[len++] = *at;
	while (len > 1 && digits[len - 1] == '0')
		len--;
	digits[len] = '\0';
	*exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
}

void jinja_put_float(struct kf_buf *out, double f)
{
	char digits[32];
	int exponent, len;

	if (isnan(f) || isinf(f)) {
		kf_buf_puts(out, isnan(f) ? "nan" : f > 0 ? "inf" : "-inf");
		return;
	}
	if (signbit(f))
		kf_buf_puts(out, "-");
	shortest(fabs(f), digits, &exponent);
	len = (int)strlen(digits);
	if (exponent < -4 || exponent >= 16) {
		kf_buf_printf(out, "%c%s%se%c%02d", digits[0],
			      len > 1 ? "." : "", digits + 1,
			      exponent < 0 ? '-' : '+', abs(exponent));
		return;
	}
	if (exponent < 0) {
		kf_buf_puts(out, "0.");
		for (int i = -1; i > exponent; i--)
			kf_buf_puts(out, "0");
		kf_buf_puts(out, digits);
		return;
	}
	for (int i = 0; i <= exponent; i++)
		kf_buf_add(out, i < len ? digits + i : "0", 1);
	kf_buf_puts(out, ".");
	kf_buf_puts(out, len > exponent + 1 ? digits + exponent + 1 : "0");
}

static void repr_char(struct kf_buf *out, uint32_t point, char quote,
		      const char *raw, size_t width)
{
	static const char plain[] = "\n\r\t\\", name[] = "nrt\\";
	const char *at = point && point < 128 ?
			 strchr(plain, (int)point) : NULL;

	if (at)
		kf_buf_printf(out, "\\%c", name[at - plain]);
	else if (point == (unsigned char)quote)
		kf_buf_printf(out, "\\%c", quote);
	else if (jinja_is_printable(point))
		kf_buf_add(out, raw, width);
	else
		kf_buf_printf(out, point < 0x100 ? "\\x%02x" :
			      point < 0x10000 ? "\\u%04x" : "\\U%08x", point);
}

static void repr_text(struct kf_buf *out, const struct value *s)
{
	bool single = memchr(s->u.s.text, '\'', s->u.s.len) != NULL;
	bool dbl = memchr(s->u.s.text, '"', s->u.s.len) != NULL;
	char quote = single && !dbl ? '"' : '\'';
	size_t width;

	if (s->u.s.safe)
		kf_buf_puts(out, "Markup(");
	kf_buf_add(out, &quote, 1);
	for (size_t i = 0; i < s->u.s.len; i += width) {
		uint32_t point = jinja_char_at(s->u.s.text + i,
					       s->u.s.len - i, &width);

		repr_char(out, point, quote, s->u.s.text + i, width);
	}
	kf_buf_add(out, &quote, 1);
	if (s->u.s.safe)
		kf_buf_puts(out, ")");
}

static void repr_items(struct jinja *j, struct kf_buf *out,
		       struct value *v, const char *open, const char *close)
{
	const struct list *list = &v->u.list;

	kf_buf_puts(out, open);
	for (size_t i = 0; i < list->count && jinja_step(j); i++) {
		if (i)
			kf_buf_puts(out, ", ");
		jinja_put_repr(j, out, list->at[i]);
	}
	if (v->kind == V_TUPLE && list->count == 1)
		kf_buf_puts(out, ",");
	kf_buf_puts(out, close);
}

static void repr_dict(struct jinja *j, struct kf_buf *out,
		      const struct dict *dict)
{
	kf_buf_puts(out, "{");
	for (size_t i = 0; i < dict->count && jinja_step(j); i++) {
		if (i)
			kf_buf_puts(out, ", ");
		jinja_put_repr(j, out, dict->at[i].key);
		kf_buf_puts(out, ": ");
		jinja_put_repr(j, out, dict->at[i].value);
	}
	kf_buf_puts(out, "}");
}

static void repr_view(struct jinja *j, struct kf_buf *out, struct value *v)
{
	char what = v->u.view.what;

	kf_buf_printf(out, "dict_%s(", what == 'k' ? "keys" : what == 'v' ?
		      "values" : "items");
	repr_items(j, out, jinja_list_of(j, v), "[", "]");
	kf_buf_puts(out, ")");
}

static void repr_range(struct kf_buf *out, const struct value *v)
{
	kf_buf_printf(out, "range(%lld, %lld", (long long)v->u.range.start,
		      (long long)v->u.range.stop);
	if (v->u.range.step != 1)
		kf_buf_printf(out, ", %lld", (long long)v->u.range.step);
	kf_buf_puts(out, ")");
}

static void repr_macro(struct kf_buf *out, const struct macro *macro)
{
	if (macro->name)
		kf_buf_printf(out, "<Macro '%s'>", macro->name);
	else
		kf_buf_puts(out, "<Macro anonymous>");
}

static void repr_plain(struct jinja *j, struct kf_buf *out, struct value *v)
{
	switch (v->kind) {
	case V_NONE:
		kf_buf_puts(out, "None");
		break;
	case V_BOOL:
		kf_buf_puts(out, v->u.b ? "True" : "False");
		break;
	case V_INT:
		kf_buf_printf(out, "%lld", (long long)v->u.i);
		break;
	case V_FLOAT:
		jinja_put_float(out, v->u.f);
		break;
	case V_RANGE:
		repr_range(out, v);
		break;
	case V_MACRO:
		repr_macro(out, v->u.macro);
		break;
	case V_LOOP:
		kf_buf_printf(out, "<LoopContext %lld/%lld>",
			      (long long)v->u.loop->index0 + 1,
			      (long long)jinja_loop_length(j, v->u.loop));
		break;
	case V_UNDEFINED:
		kf_buf_puts(out, "Undefined");
		break;
	case V_GEN:
		jinja_fail(j, "the result of this filter cannot be printed; "
			   "add |list or |join");
		break;
	default:
		jinja_fail(j, "a %s cannot be printed", jinja_kind_name(v));
	}
}

void jinja_put_repr(struct jinja *j, struct kf_buf *out, struct value *v)
{
	if (!jinja_enter(j)) {
		jinja_leave(j);
		return;
	}
	switch (v->kind) {
	case V_STR:
		repr_text(out, v);
		break;
	case V_LIST:
		repr_items(j, out, v, "[", "]");
		break;
	case V_TUPLE:
		repr_items(j, out, v, "(", ")");
		break;
	case V_DICT:
		repr_dict(j, out, &v->u.dict);
		break;
	case V_VIEW:
		repr_view(j, out, v);
		break;
	case V_NAMESPACE:
		kf_buf_puts(out, "<Namespace ");
		repr_dict(j, out, &v->u.dict);
		kf_buf_puts(out, ">");
		break;
	default:
		repr_plain(j, out, v);
	}
	jinja_leave(j);
}

void jinja_put_str(struct jinja *j, struct kf_buf *out, struct value *v)
{
	if (v->kind == V_STR)
		kf_buf_add(out, v->u.s.text, v->u.s.len);
	else if (v->kind == V_MODULE)
		jinja_put_str(j, out, v->u.module->body);
	else if (v->kind != V_UNDEFINED)
		jinja_put_repr(j, out, v);
	else if (!v->u.undefined.lenient)
		jinja_undefined_used(j, v);
}

struct value *jinja_soft_str(struct jinja *j, struct value *v)
{
	struct kf_buf out = { .max = JINJA_TEXT_BYTES };

	if (v->kind == V_STR)
		return v;
	jinja_put_str(j, &out, v);
	return jinja_str_take(j, &out);
}

struct value *jinja_to_str(struct jinja *j, struct value *v)
{
	struct value *s = jinja_soft_str(j, v);

	return s->u.s.safe ? jinja_str(j, s->u.s.text, s->u.s.len) : s;
}
