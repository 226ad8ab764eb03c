/* Filters whose subject is a text, a number, or anything at all. */
#include "prompt/jinja_internal.h"

#include <math.h>

static bool truth_arg(struct jinja *j, const struct args *args, size_t i)
{
	return args->at[i] && jinja_truth(j, args->at[i]);
}

static int64_t int_arg(struct jinja *j, const struct args *args, size_t i,
		       int64_t otherwise)
{
	return args->at[i] ? jinja_as_int(j, args->at[i], "an argument") :
			     otherwise;
}

/* Filters that use len(), + or slices want a string, not something like it. */
static bool want_text(struct jinja *j, const struct value *v)
{
	if (v->kind == V_STR)
		return true;
	if (v->kind == V_UNDEFINED)
		jinja_undefined_used(j, v);
	else
		jinja_fail(j, "a string is wanted, not a %s",
			   jinja_kind_name(v));
	return false;
}

static struct value *do_upper(struct jinja *j, struct value *v,
			      const struct args *args)
{
	(void)args;
	return jinja_upper(j, jinja_soft_str(j, v));
}

static struct value *do_lower(struct jinja *j, struct value *v,
			      const struct args *args)
{
	(void)args;
	return jinja_lower(j, jinja_soft_str(j, v));
}

static struct value *do_capitalize(struct jinja *j, struct value *v,
				   const struct args *args)
{
	(void)args;
	return jinja_capitalize(j, jinja_soft_str(j, v));
}

static struct value *do_title(struct jinja *j, struct value *v,
			      const struct args *args)
{
	(void)args;
	return jinja_title(j, jinja_soft_str(j, v));
}

static struct value *do_trim(struct jinja *j, struct value *v,
			     const struct args *args)
{
	return jinja_strip(j, jinja_soft_str(j, v),
			   args->at[0] ? args->at[0] : &j->none, true, true);
}

static struct value *do_center(struct jinja *j, struct value *v,
			       const struct args *args)
{
	return jinja_pad(j, jinja_soft_str(j, v), int_arg(j, args, 0, 80), 'c');
}

static struct value *do_string(struct jinja *j, struct value *v,
			       const struct args *args)
{
	(void)args;
	return jinja_soft_str(j, v);
}

static struct value *do_escape(struct jinja *j, struct value *v,
			       const struct args *args)
{
	(void)args;
	return jinja_escape(j, v);
}

static struct value *do_safe(struct jinja *j, struct value *v,
			     const struct args *args)
{
	struct value *s = jinja_soft_str(j, v);

	(void)args;
	return jinja_safe(j, s->u.s.text, s->u.s.len);
}

static struct value *do_replace(struct jinja *j, struct value *v,
				const struct args *args)
{
	int64_t count = args->at[2] && args->at[2]->kind != V_NONE ?
			int_arg(j, args, 2, -1) : -1;
	struct value *s = jinja_to_str(j, v);
	struct value *old = jinja_to_str(j, args->at[0]);
	struct value *new = jinja_to_str(j, args->at[1]);

	return jinja_failed(j) ? s : jinja_replace(j, s, old, new, count);
}

static struct value *do_wordcount(struct jinja *j, struct value *v,
				  const struct args *args)
{
	struct value *s = jinja_soft_str(j, v);
	bool inside = false;
	int64_t count = 0;
	size_t width;

	(void)args;
	for (size_t i = 0; i < s->u.s.len; i += width) {
		bool word = jinja_is_word(jinja_char_at(s->u.s.text + i,
							s->u.s.len - i,
							&width));

		count += word && !inside;
		inside = word;
	}
	return jinja_int(j, count);
}

static struct value *do_format(struct jinja *j, struct value *v,
			       const struct args *args)
{
	struct value *arg = jinja_new(j, args->key_count ? V_DICT : V_TUPLE);

	if (args->count && args->key_count)
		return jinja_fail(j, "format takes values or keywords, not "
				  "both");
	for (size_t i = 0; i < args->count; i++)
		jinja_push(j, &arg->u.list, args->at[i]);
	for (size_t i = 0; i < args->key_count; i++)
		jinja_dict_put(j, &arg->u.dict, args->key[i], args->value[i]);
	return jinja_format(j, jinja_soft_str(j, v), arg);
}

static struct value *indention(struct jinja *j, const struct args *args)
{
	int64_t width;

	if (args->at[0] && args->at[0]->kind == V_STR)
		return args->at[0];
	width = int_arg(j, args, 0, 4);
	return jinja_pad(j, &j->empty, width, 'l');
}

static struct value *do_indent(struct jinja *j, struct value *v,
			       const struct args *args)
{
	struct kf_buf out = { .max = JINJA_TEXT_BYTES };
	struct value *by = indention(j, args), *lines, *result;
	bool first = truth_arg(j, args, 1), blank = truth_arg(j, args, 2);

	if (!want_text(j, v) || jinja_failed(j))
		return &j->none;
	if (v->u.s.safe)
		by = jinja_escape(j, by);
	/* A last line end counts as one more, empty line. */
	result = jinja_str(j, v->u.s.text, v->u.s.len + 1);
	((char *)(uintptr_t)result->u.s.text)[v->u.s.len] = '\n';
	lines = jinja_splitlines(j, result);
	for (size_t i = 0; i < lines->u.list.count && jinja_step(j); i++) {
		const struct value *line = lines->u.list.at[i];

		if (i)
			kf_buf_puts(&out, "\n");
		if (i ? blank || line->u.s.len : first)
			kf_buf_add(&out, by->u.s.text, by->u.s.len);
		kf_buf_add(&out, line->u.s.text, line->u.s.len);
	}
	result = jinja_str_take(j, &out);
	return jinja_str_like(j, v, result->u.s.text, result->u.s.len);
}

static struct value *do_truncate(struct jinja *j, struct value *v,
				 const struct args *args)
{
	int64_t length = int_arg(j, args, 0, 255), leeway = 5, keep;
	bool kill = truth_arg(j, args, 1);
	struct value *end = args->at[2] ? args->at[2] :
			    jinja_str(j, "...", 3), *cut;
	size_t len;

	if (args->at[3] && args->at[3]->kind != V_NONE)
		leeway = int_arg(j, args, 3, 5);
	keep = length - jinja_length(j, end);
	if (keep < 0 || leeway < 0)
		return jinja_fail(j, "truncate wants a length of at least the "
				  "end's, and a leeway of at least 0");
	/* What is short enough stays what it is, also a list. */
	if (jinja_length(j, v) - leeway <= length || jinja_failed(j))
		return v;
	if (!want_text(j, v))
		return &j->none;
	len = jinja_char_offset(v->u.s.text, v->u.s.len, (size_t)keep);
	for (size_t i = len; !kill && i > 0; i--)
		if (v->u.s.text[i - 1] == ' ') {
			len = i - 1;
			break;
		}
	cut = jinja_str_like(j, v, v->u.s.text, len);
	return jinja_arith(j, '+', cut, end);
}

static struct value *do_wordwrap(struct jinja *j, struct value *v,
				 const struct args *args)
{
	struct kf_buf out = { .max = JINJA_TEXT_BYTES };
	int64_t width = int_arg(j, args, 0, 79);
	bool words = !args->at[1] || truth_arg(j, args, 1);
	bool hyphens = !args->at[3] || truth_arg(j, args, 3);
	const char *join = "\n";
	struct value *lines;

	if (!want_text(j, v) || jinja_failed(j))
		return &j->none;
	if (args->at[2] && args->at[2]->kind == V_STR)
		join = args->at[2]->u.s.text;
	else if (args->at[2] && args->at[2]->kind != V_NONE)
		return jinja_fail(j, "wordwrap joins lines with a string");
	lines = jinja_splitlines(j, v);
	if (width <= 0 && lines->u.list.count)
		return jinja_fail(j, "wordwrap wants a width above 0");
	for (size_t i = 0; i < lines->u.list.count && jinja_step(j); i++) {
		const struct value *line = lines->u.list.at[i];

		if (i)
			kf_buf_puts(&out, join);
		jinja_wrap(&out, line->u.s.text, line->u.s.len, (size_t)width,
			   words, hyphens, join);
	}
	return jinja_str_take(j, &out);
}

/* --- numbers --------------------------------------------------------- */

static struct value *do_abs(struct jinja *j, struct value *v,
			    const struct args *args)
{
	(void)args;
	if (v->kind == V_FLOAT)
		return jinja_float(j, fabs(v->u.f));
	return jinja_sign(j, v, jinja_is_number(v) && jinja_as_double(v) < 0);
}

static struct value *do_int(struct jinja *j, struct value *v,
			    const struct args *args)
{
	struct value *zero = jinja_int(j, 0);

	return jinja_to_int(j, v, args->at[0] ? args->at[0] : zero,
			    int_arg(j, args, 1, 10));
}

static struct value *do_float(struct jinja *j, struct value *v,
			      const struct args *args)
{
	struct value *zero = jinja_float(j, 0);

	return jinja_to_float(j, v, args->at[0] ? args->at[0] : zero);
}

static struct value *do_round(struct jinja *j, struct value *v,
			      const struct args *args)
{
	static const char *const methods[] = { "common", "ceil", "floor" };
	const char *method = "common";

	if (args->at[1])
		method = args->at[1]->kind == V_STR ?
			args->at[1]->u.s.text : "";
	for (size_t i = 0; i < KF_COUNT(methods); i++)
		if (!strcmp(method, methods[i]))
			return jinja_round(j, v, int_arg(j, args, 0, 0),
					   method);
	return jinja_fail(j, "round's method is common, ceil or floor");
}

static struct value *do_default(struct jinja *j, struct value *v,
				const struct args *args)
{
	struct value *otherwise = args->at[0] ? args->at[0] : &j->empty;

	if (v->kind == V_UNDEFINED)
		return otherwise;
	return truth_arg(j, args, 1) && !jinja_truth(j, v) ? otherwise : v;
}

const struct jinja_filter jinja_filters_text[] = {
	{ "abs", "", 0, false, do_abs },
	{ "capitalize", "", 0, false, do_capitalize },
	{ "center", "width", 0, false, do_center },
	{ "d", "default_value,boolean", 0, false, do_default },
	{ "default", "default_value,boolean", 0, false, do_default },
	{ "e", "", 0, false, do_escape },
	{ "escape", "", 0, false, do_escape },
	{ "float", "default", 0, false, do_float },
	{ "format", "*", 0, false, do_format },
	{ "indent", "width,first,blank", 0, false, do_indent },
	{ "int", "default,base", 0, false, do_int },
	{ "lower", "", 0, false, do_lower },
	{ "replace", "old,new,count", 2, false, do_replace },
	{ "round", "precision,method", 0, false, do_round },
	{ "safe", "", 0, false, do_safe },
	{ "string", "", 0, false, do_string },
	{ "title", "", 0, false, do_title },
	{ "tojson", "indent", 0, false, jinja_filter_tojson },
	{ "trim", "chars", 0, false, do_trim },
	{ "truncate", "length,killwords,end,leeway", 0, false, do_truncate },
	{ "upper", "", 0, false, do_upper },
	{ "wordcount", "", 0, false, do_wordcount },
	{ "wordwrap", "width,break_long_words,wrapstring,break_on_hyphens", 0,
	  false, do_wordwrap },
	{ .name = NULL },
};
