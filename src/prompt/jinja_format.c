/* "%s and %5.2f" % (a, b): the printf-style formatting of Python. */
#include "prompt/jinja_internal.h"

#include <math.h>

struct spec {
	bool minus, plus, space, alt, zero;
	int width, precision;	/* precision -1: not given */
	char type;
};

struct format {
	struct jinja *j;
	const struct value *text;
	size_t at;
	struct value *arg;
	size_t used;		/* items of a tuple */
	bool mapped;		/* %(name)s was seen */
	struct kf_buf out;
};

static char peek(const struct format *f)
{
	return f->at < f->text->u.s.len ? f->text->u.s.text[f->at] : '\0';
}

static struct value *next_arg(struct format *f)
{
	if (f->arg->kind == V_TUPLE) {
		if (f->used < f->arg->u.list.count)
			return f->arg->u.list.at[f->used++];
	} else if (f->used++ == 0) {
		return f->arg;
	}
	return jinja_fail(f->j, "not enough arguments for the format");
}

static struct value *mapped_arg(struct format *f)
{
	size_t begin = ++f->at;
	unsigned depth = 1;
	struct value *key, *v;

	while (f->at < f->text->u.s.len) {
		char c = peek(f);

		depth += c == '(';
		depth -= c == ')';
		if (!depth)
			break;
		f->at++;
	}
	if (peek(f) != ')' || f->arg->kind != V_DICT)
		return jinja_fail(f->j, "the format needs a mapping");
	key = jinja_str(f->j, f->text->u.s.text + begin, f->at - begin);
	f->at++;
	f->mapped = true;
	v = jinja_dict_get(f->j, &f->arg->u.dict, key);
	return v ? v : jinja_fail(f->j, "the format names \"%s\", which is "
				  "missing", key->u.s.text);
}

static int read_number(struct format *f)
{
	int64_t number = 0;

	if (peek(f) == '*') {
		f->at++;
		number = jinja_as_int(f->j, next_arg(f), "*");
	} else {
		for (; peek(f) >= '0' && peek(f) <= '9'; f->at++)
			number = number > 100000 ? number :
				 10 * number + peek(f) - '0';
	}
	if (number > 10000 || number < -10000) {
		jinja_limit(f->j, "a width of more than 10000 in a format");
		return 0;
	}
	return (int)number;
}

static void read_spec(struct format *f, struct spec *spec)
{
	bool more = true;

	*spec = (struct spec) { .precision = -1 };
	while (more) {
		char c = peek(f);

		spec->minus |= c == '-';
		spec->plus |= c == '+';
		spec->space |= c == ' ';
		spec->alt |= c == '#';
		spec->zero |= c == '0';
		more = c && strchr("-+ #0", c);
		f->at += more;
	}
	spec->width = read_number(f);
	if (spec->width < 0) {
		spec->minus = true;
		spec->width = -spec->width;
	}
	if (peek(f) == '.') {
		f->at++;
		spec->precision = read_number(f);
		if (spec->precision < 0)
			spec->precision = 0;
	}
	while (peek(f) && strchr("hlL", peek(f)))
		f->at++;
	spec->type = peek(f);
	if (spec->type)
		f->at++;
}

/* sign and prefix stay in front of zeros; text is padded to the width. */
static void put_padded(struct format *f, const struct spec *spec,
		       const char *sign, const char *text, size_t len,
		       bool zero)
{
	size_t chars = strlen(sign) + jinja_char_count(text, len);
	size_t pad = (size_t)spec->width > chars ?
		     (size_t)spec->width - chars : 0;

	for (size_t i = 0; !spec->minus && !zero && i < pad; i++)
		kf_buf_puts(&f->out, " ");
	kf_buf_puts(&f->out, sign);
	for (size_t i = 0; !spec->minus && zero && i < pad; i++)
		kf_buf_puts(&f->out, "0");
	kf_buf_add(&f->out, text, len);
	for (size_t i = 0; spec->minus && i < pad; i++)
		kf_buf_puts(&f->out, " ");
}

static const char *sign_of(const struct spec *spec, bool negative)
{
	return negative ? "-" : spec->plus ? "+" : spec->space ? " " : "";
}

static void put_text(struct format *f, const struct spec *spec, struct value *v)
{
	struct kf_buf text = { .max = JINJA_TEXT_BYTES };
	size_t len;

	if (spec->type == 's' && f->text->u.s.safe)
		v = jinja_escape(f->j, v);
	if (spec->type == 's')
		jinja_put_str(f->j, &text, v);
	else
		jinja_put_repr(f->j, &text, v);
	len = text.len;
	if (spec->precision >= 0)
		len = jinja_char_offset(kf_buf_str(&text), len,
					(size_t)spec->precision);
	put_padded(f, spec, "", kf_buf_str(&text), len, false);
	kf_buf_release(&text);
}

static void put_int(struct format *f, const struct spec *spec, struct value *v)
{
	const char *prefix = !spec->alt ? "" : spec->type == 'x' ? "0x" :
			     spec->type == 'X' ? "0X" :
			     spec->type == 'o' ? "0o" : "";
	bool decimal = strchr("diu", spec->type) != NULL;
	char digits[32], sign[8];
	struct kf_buf text = { .max = JINJA_TEXT_BYTES };
	uint64_t size;
	int64_t i;

	if (v->kind == V_FLOAT && decimal)
		v = isfinite(v->u.f) ? jinja_to_int(f->j, v, v, 10) :
		    jinja_fail(f->j, "%%%c of a number that is not finite",
			       spec->type);
	i = jinja_as_int(f->j, v, "the argument of a format");
	size = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
	snprintf(digits, sizeof(digits), decimal ? "%llu" :
		 spec->type == 'x' ? "%llx" : spec->type == 'X' ? "%llX" :
		 "%llo", (unsigned long long)size);
	for (int n = (int)strlen(digits); n < spec->precision; n++)
		kf_buf_puts(&text, "0");
	kf_buf_puts(&text, digits);
	snprintf(sign, sizeof(sign), "%s%s", sign_of(spec, i < 0), prefix);
	put_padded(f, spec, sign, kf_buf_str(&text), text.len, spec->zero);
	kf_buf_release(&text);
}

static void put_float(struct format *f, const struct spec *spec,
		      struct value *v)
{
	struct kf_buf text = { .max = JINJA_TEXT_BYTES };
	int precision = spec->precision < 0 ? 6 : spec->precision;
	char how[] = { '%', spec->alt ? '#' : '.', '.', '*', spec->type, 0 };
	double d;

	if (!jinja_is_number(v)) {
		if (v->kind == V_UNDEFINED)
			jinja_undefined_used(f->j, v);
		else
			jinja_fail(f->j, "%%%c of a %s", spec->type,
				   jinja_kind_name(v));
		return;
	}
	d = jinja_as_double(v);
	if (!spec->alt)
		memmove(how + 1, how + 2, 4);
	if (isnan(d) || isinf(d))
		kf_buf_puts(&text, isnan(d) ?
			    (spec->type < 'a' ? "NAN" : "nan") :
			    (spec->type < 'a' ? "INF" : "inf"));
	else
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		kf_buf_printf(&text, how, precision, fabs(d));
#pragma GCC diagnostic pop
	put_padded(f, spec, sign_of(spec, !isnan(d) && signbit(d)),
		   kf_buf_str(&text), text.len, spec->zero);
	kf_buf_release(&text);
}

static void put_char(struct format *f, const struct spec *spec, struct value *v)
{
	char text[5];
	int64_t i;

	if (v->kind == V_STR && jinja_length(f->j, v) == 1) {
		put_padded(f, spec, "", v->u.s.text, v->u.s.len, false);
		return;
	}
	i = jinja_as_int(f->j, v, "the argument of %c");
	if (i < 0 || i > 0x10ffff || (i >= 0xd800 && i < 0xe000))
		jinja_fail(f->j, "%%c wants a character or its number");
	else
		put_padded(f, spec, "", text, jinja_put_char(text, (uint32_t)i),
			   false);
}

static void put_item(struct format *f)
{
	struct value *v = NULL;
	struct spec spec;

	f->at++;
	if (peek(f) == '%') {
		f->at++;
		kf_buf_puts(&f->out, "%");
		return;
	}
	if (peek(f) == '(')
		v = mapped_arg(f);
	read_spec(f, &spec);
	if (!spec.type || !strchr("sradiuxXoeEfFgGc", spec.type)) {
		jinja_fail(f->j, "the format has an unknown or missing type");
		return;
	}
	if (!v)
		v = next_arg(f);
	if (jinja_failed(f->j))
		return;
	if (strchr("sra", spec.type))
		put_text(f, &spec, v);
	else if (strchr("diuxXo", spec.type))
		put_int(f, &spec, v);
	else if (spec.type == 'c')
		put_char(f, &spec, v);
	else
		put_float(f, &spec, v);
}

struct value *jinja_format(struct jinja *j, struct value *format,
			   struct value *arg)
{
	struct format f = { .j = j, .text = format, .arg = arg,
			    .out.max = JINJA_TEXT_BYTES };
	struct value *v;
	bool all;

	while (f.at < format->u.s.len && !jinja_failed(j)) {
		if (peek(&f) == '%')
			put_item(&f);
		else
			kf_buf_add(&f.out, format->u.s.text + f.at++, 1);
	}
	if (arg->kind == V_TUPLE)
		all = f.used == arg->u.list.count;
	else
		all = f.used || f.mapped || arg->kind == V_DICT ||
		      arg->kind == V_LIST || arg->kind == V_RANGE;
	if (!all)
		jinja_fail(j, "not all arguments are used by the format");
	v = jinja_str_take(j, &f.out);
	return jinja_str_like(j, format, v->u.s.text, v->u.s.len);
}
