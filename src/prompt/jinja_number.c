/*
 * Arithmetic as Python does it, on 64-bit integers: what needs more is an
 * error, never a wrong number.
 */
#include "prompt/jinja_internal.h"

#include <math.h>

static struct value *overflow(struct jinja *j)
{
	return jinja_fail(j, "an integer does not fit into 64 bits");
}

static struct value *type_error(struct jinja *j, int op, const struct value *a,
				const struct value *b)
{
	const struct value *undefined = a->kind == V_UNDEFINED ? a :
					b->kind == V_UNDEFINED ? b : NULL;
	char sign[3] = { (char)(op > 255 ? op >> 8 : op),
			 (char)(op > 255 ? op & 255 : 0), 0 };

	if (undefined)
		return jinja_undefined_used(j, undefined);
	return jinja_fail(j, "%s does not work between a %s and a %s", sign,
			  jinja_kind_name(a), jinja_kind_name(b));
}

/* --- numbers --------------------------------------------------------- */

static int64_t whole(const struct value *v)
{
	return v->kind == V_BOOL ? v->u.b : v->u.i;
}

static struct value *int_power(struct jinja *j, int64_t base, int64_t exponent)
{
	int64_t result = 1;

	for (;;) {
		if (exponent & 1 &&
		    __builtin_mul_overflow(result, base, &result))
			return overflow(j);
		exponent >>= 1;
		if (!exponent)
			return jinja_int(j, result);
		if (__builtin_mul_overflow(base, base, &base))
			return overflow(j);
	}
}

static struct value *float_power(struct jinja *j, double a, double b)
{
	double result = pow(a, b);

	if (a == 0 && b < 0)
		return jinja_fail(j, "0.0 cannot be raised to a negative "
				  "power");
	if (a < 0 && isfinite(a) && isfinite(b) && b != floor(b))
		return jinja_fail(j, "a negative number raised to a fraction "
				  "is complex");
	if (isinf(result) && isfinite(a) && isfinite(b))
		return jinja_fail(j, "a power is too large");
	return jinja_float(j, result);
}

static double floor_mod(double a, double b)
{
	double mod = fmod(a, b);

	if (mod == 0)
		return copysign(0, b);
	return (b < 0) != (mod < 0) ? mod + b : mod;
}

/* As CPython: exact where a - mod is a multiple of b. */
static double floor_div(double a, double b)
{
	double mod = fmod(a, b), div = (a - mod) / b, down;

	if (mod != 0 && (b < 0) != (mod < 0))
		div -= 1;
	if (div == 0)
		return copysign(0, a / b);
	down = floor(div);
	return div - down > 0.5 ? down + 1 : down;
}

static struct value *float_arith(struct jinja *j, int op, double a, double b)
{
	if ((op == '/' || op == OP('/', '/') || op == '%') && b == 0)
		return jinja_fail(j, "division by zero");
	switch (op) {
	case '+':
		return jinja_float(j, a + b);
	case '-':
		return jinja_float(j, a - b);
	case '*':
		return jinja_float(j, a * b);
	case '/':
		return jinja_float(j, a / b);
	case '%':
		return jinja_float(j, floor_mod(a, b));
	case OP('/', '/'):
		return jinja_float(j, floor_div(a, b));
	default:
		return float_power(j, a, b);
	}
}

static struct value *int_divide(struct jinja *j, int op, int64_t a, int64_t b)
{
	int64_t div, mod;

	if (!b)
		return jinja_fail(j, "division by zero");
	if (op == '/')
		return jinja_float(j, (double)a / (double)b);
	if (b == -1 && a == INT64_MIN)
		return op == '%' ? jinja_int(j, 0) : overflow(j);
	div = a / b;
	mod = a % b;
	if (mod && (mod < 0) != (b < 0)) {
		mod += b;
		div--;
	}
	return jinja_int(j, op == '%' ? mod : div);
}

static struct value *int_arith(struct jinja *j, int op, int64_t a, int64_t b)
{
	int64_t result;
	bool over;

	switch (op) {
	case '+':
		over = __builtin_add_overflow(a, b, &result);
		break;
	case '-':
		over = __builtin_sub_overflow(a, b, &result);
		break;
	case '*':
		over = __builtin_mul_overflow(a, b, &result);
		break;
	case OP('*', '*'):
		return b < 0 ? float_power(j, (double)a, (double)b) :
			       int_power(j, a, b);
	default:
		return int_divide(j, op, a, b);
	}
	return over ? overflow(j) : jinja_int(j, result);
}

/* --- strings and lists ----------------------------------------------- */

static struct value *add_text(struct jinja *j, struct value *a, struct value *b)
{
	struct kf_buf out = { .max = JINJA_TEXT_BYTES };
	bool safe = a->u.s.safe || b->u.s.safe;
	struct value *sum;

	if (safe) {
		a = jinja_escape(j, a);
		b = jinja_escape(j, b);
	}
	kf_buf_add(&out, a->u.s.text, a->u.s.len);
	kf_buf_add(&out, b->u.s.text, b->u.s.len);
	sum = jinja_str_take(j, &out);
	return safe ? jinja_safe(j, sum->u.s.text, sum->u.s.len) : sum;
}

static struct value *add_lists(struct jinja *j, struct value *a,
			       struct value *b)
{
	struct value *sum = jinja_new(j, a->kind);

	for (size_t i = 0; i < a->u.list.count && jinja_step(j); i++)
		jinja_push(j, &sum->u.list, a->u.list.at[i]);
	for (size_t i = 0; i < b->u.list.count && jinja_step(j); i++)
		jinja_push(j, &sum->u.list, b->u.list.at[i]);
	return sum;
}

static struct value *repeat(struct jinja *j, struct value *v, int64_t times)
{
	struct kf_buf out = { .max = JINJA_TEXT_BYTES };
	struct value *result;

	if (v->kind == V_STR) {
		for (int64_t i = 0; i < times && v->u.s.len; i++)
			if (!kf_buf_add(&out, v->u.s.text, v->u.s.len))
				break;
		result = jinja_str_take(j, &out);
		return jinja_str_like(j, v, result->u.s.text,
				      result->u.s.len);
	}
	result = jinja_new(j, v->kind);
	for (int64_t i = 0; i < times && v->u.list.count; i++) {
		if (jinja_failed(j))
			break;
		for (size_t k = 0; k < v->u.list.count && jinja_step(j); k++)
			jinja_push(j, &result->u.list, v->u.list.at[k]);
	}
	return result;
}

static bool is_seq(const struct value *v)
{
	return v->kind == V_STR || v->kind == V_LIST || v->kind == V_TUPLE;
}

static bool is_whole(const struct value *v)
{
	return v->kind == V_INT || v->kind == V_BOOL;
}

struct value *jinja_arith(struct jinja *j, int op, struct value *a,
			  struct value *b)
{
	if (is_whole(a) && is_whole(b))
		return int_arith(j, op, whole(a), whole(b));
	if (jinja_is_number(a) && jinja_is_number(b))
		return float_arith(j, op, jinja_as_double(a),
				   jinja_as_double(b));
	if (op == '%' && a->kind == V_STR)
		return jinja_format(j, a, b);
	if (op == '+' && a->kind == V_STR && b->kind == V_STR)
		return add_text(j, a, b);
	if (op == '+' && a->kind == b->kind && is_seq(a))
		return add_lists(j, a, b);
	if (op == '*' && is_seq(a) && is_whole(b))
		return repeat(j, a, whole(b));
	if (op == '*' && is_whole(a) && is_seq(b))
		return repeat(j, b, whole(a));
	return type_error(j, op, a, b);
}

struct value *jinja_sign(struct jinja *j, struct value *v, bool negate)
{
	if (v->kind == V_FLOAT)
		return jinja_float(j, negate ? -v->u.f : v->u.f);
	if (is_whole(v))
		return negate ? int_arith(j, '-', 0, whole(v)) :
				jinja_int(j, whole(v));
	if (v->kind == V_UNDEFINED)
		return jinja_undefined_used(j, v);
	return jinja_fail(j, "a sign before a %s", jinja_kind_name(v));
}

/* --- conversions ----------------------------------------------------- */

/* Digits of a number without the underscores that Python allows between them,
 * without white space around. False if they stand elsewhere. */
static bool plain_digits(const struct value *s, char *out, size_t size)
{
	const char *text = s->u.s.text;
	size_t at = jinja_skip_space(text, s->u.s.len, 0), len = 0;
	size_t end = jinja_trim_end(text, s->u.s.len);

	for (; at < end; at++) {
		if (text[at] == '_') {
			if (!len || out[len - 1] == '_' || at + 1 == end ||
			    !jinja_is_word((unsigned char)text[at - 1]) ||
			    !jinja_is_word((unsigned char)text[at + 1]) ||
			    text[at + 1] == '_')
				return false;
			continue;
		}
		if (len + 1 >= size || !text[at])
			return false;
		out[len++] = text[at];
	}
	out[len] = '\0';
	return len > 0;
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'Z')
		return c - 'A' + 10;
	return 99;
}

/* Skips "0x" and its like; sets *base when it was 0. False: no number. */
static bool skip_prefix(const char **text, int64_t *base)
{
	static const struct { char c; int64_t base; } prefix[] = {
		{ 'x', 16 }, { 'o', 8 }, { 'b', 2 },
	};
	const char *s = *text;

	for (size_t i = 0; s[0] == '0' && i < KF_COUNT(prefix); i++) {
		if ((s[1] | 32) != prefix[i].c ||
		    (*base && *base != prefix[i].base))
			continue;
		*base = prefix[i].base;
		*text = s + 2;
		return true;
	}
	if (*base)
		return true;
	*base = 10;
	return s[0] != '0' || strspn(s, "0") == strlen(s);
}

enum parsed { PARSED, NOT_A_NUMBER, TOO_LARGE };

static enum parsed parse_int(const struct value *s, int64_t base, int64_t *out)
{
	char buf[512], *start = buf;
	const char *at;
	bool minus;

	*out = 0;
	if (base && (base < 2 || base > 36))
		return NOT_A_NUMBER;
	if (!plain_digits(s, buf, sizeof(buf)))
		return NOT_A_NUMBER;
	minus = *start == '-';
	at = start + (minus || *start == '+');
	if (!skip_prefix(&at, &base) || !*at)
		return NOT_A_NUMBER;
	for (const char *c = at; *c; c++)
		if (digit_of(*c) >= base)
			return NOT_A_NUMBER;
	for (; *at; at++)
		if (__builtin_mul_overflow(*out, base, out) ||
		    (minus ? __builtin_sub_overflow(*out, digit_of(*at), out) :
			     __builtin_add_overflow(*out, digit_of(*at), out)))
			return TOO_LARGE;
	return PARSED;
}

/* What float() of Python reads: also inf and nan, but no hexadecimal. */
static bool parse_float(const struct value *s, double *out)
{
	char buf[512];
	char *end;

	if (!plain_digits(s, buf, sizeof(buf)))
		return false;
	if (kf_parse_double(buf, out))
		return strpbrk(buf, "xXpP") == NULL;
	if (strpbrk(buf, "xXpP(") != NULL)
		return false;
	*out = strtod(buf, &end);	/* inf, nan, or beyond the largest */
	return !*end;
}

static struct value *float_to_int(struct jinja *j, double f,
				  struct value *otherwise)
{
	if (isnan(f))
		return otherwise;
	if (!(f > -0x1p63 - 1 && f < 0x1p63))
		return overflow(j);
	return jinja_int(j, (int64_t)f);
}

struct value *jinja_to_int(struct jinja *j, struct value *v,
			   struct value *otherwise, int64_t base)
{
	enum parsed parsed;
	int64_t i;
	double f;

	if (is_whole(v))
		return jinja_int(j, whole(v));
	if (v->kind == V_FLOAT)
		return float_to_int(j, v->u.f, otherwise);
	if (v->kind == V_UNDEFINED)
		return jinja_undefined_used(j, v);
	if (v->kind != V_STR)
		return otherwise;
	parsed = parse_int(v, base, &i);
	if (parsed == TOO_LARGE)
		return overflow(j);
	if (parsed == PARSED)
		return jinja_int(j, i);
	return parse_float(v, &f) ? float_to_int(j, f, otherwise) : otherwise;
}

struct value *jinja_to_float(struct jinja *j, struct value *v,
			     struct value *otherwise)
{
	double f;

	if (jinja_is_number(v))
		return jinja_float(j, jinja_as_double(v));
	if (v->kind == V_UNDEFINED)
		return jinja_undefined_used(j, v);
	if (v->kind != V_STR || !parse_float(v, &f))
		return otherwise;
	return jinja_float(j, f);
}

/* --- rounding -------------------------------------------------------- */

/* To the nearest, ties to even, of the exact decimal value. */
static double round_half_even(double f, int64_t digits)
{
	char text[512];
	double scale;

	if (!isfinite(f) || digits > 300)
		return f;
	if (digits < 0) {
		scale = pow(10, (double)-digits);
		return isinf(scale) ? copysign(0, f) :
				      nearbyint(f / scale) * scale;
	}
	if (digits > 22 + 300)
		return f;
	snprintf(text, sizeof(text), "%.*f", (int)(digits > 60 ? 60 : digits),
		 f);
	return strtod(text, NULL);
}

static struct value *round_int(struct jinja *j, int64_t i, int64_t digits)
{
	int64_t scale = 1, rest, down;

	if (digits >= 0)
		return jinja_int(j, i);
	for (; digits < 0; digits++)
		if (__builtin_mul_overflow(scale, 10, &scale))
			return jinja_int(j, 0);
	rest = ((i % scale) + scale) % scale;
	down = i - rest;
	if (rest > scale - rest ||
	    (rest == scale - rest && (down / scale) % 2 != 0))
		return int_arith(j, '+', down, scale);
	return jinja_int(j, down);
}

struct value *jinja_round(struct jinja *j, struct value *v, int64_t digits,
			  const char *method)
{
	double scale = pow(10, (double)digits), f;

	if (!jinja_is_number(v)) {
		if (v->kind == V_UNDEFINED)
			return jinja_undefined_used(j, v);
		return jinja_fail(j, "round of a %s", jinja_kind_name(v));
	}
	if (!strcmp(method, "common")) {
		if (is_whole(v))
			return round_int(j, whole(v), digits);
		return jinja_float(j, round_half_even(v->u.f, digits));
	}
	f = jinja_as_double(v) * scale;
	if (!isfinite(f))
		return jinja_fail(j, "round of a number that is too large");
	f = !strcmp(method, "ceil") ? ceil(f) : floor(f);
	/* Python's ceil and floor give an int, which has no -0. */
	return jinja_float(j, (f == 0 ? 0 : f) / scale);
}
