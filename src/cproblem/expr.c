#include "cproblem/expr.h"

#define LISTED_BYTES 300	/* of names in a sentence */

struct expr {
	const char *text, *at;
	const struct kf_size *size;
	size_t count;
	int depth;
	bool failed;		/* err tells; nothing more is read */
	struct kf_err *err;
};

bool kf_size_name_good(const char *name)
{
	static const char *const taken[] = { "I", "NULL", "NAN", "INFINITY",
					     "EOF", "BUFSIZ", "RAND_MAX" };
	size_t len = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	if (!len || name[len] || len > 32 || name[0] == '_' ||
	    (name[0] >= '0' && name[0] <= '9') ||
	    strncmp(name, "KF_", 3) == 0)
		return false;
	for (size_t i = 0; i < KF_COUNT(taken); i++)
		if (strcmp(name, taken[i]) == 0)
			return false;
	return true;
}

static int64_t fail(struct expr *e, const char *why)
{
	if (!e->failed)
		kf_fail(e->err, KF_E_INPUT, "\"%s\": %s", e->text, why);
	e->failed = true;
	return 0;
}

static char peek(struct expr *e)
{
	e->at += strspn(e->at, " ");
	return *e->at;
}

static int64_t fail_unknown(struct expr *e, size_t len)
{
	struct kf_buf names = { .max = LISTED_BYTES };
	char *why;

	for (size_t i = 0; i < e->count; i++)
		kf_buf_printf(&names, "%s%s", i ? ", " : "",
			      e->size[i].name);
	why = kf_format("there is no size %.*s; there %s%s", (int)len, e->at,
			e->count > 1 ? "are " : e->count ? "is " : "are none",
			kf_buf_str(&names));
	fail(e, why);
	free(why);
	kf_buf_release(&names);
	return 0;
}

static int64_t read_name(struct expr *e)
{
	size_t len = strspn(e->at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "abcdefghijklmnopqrstuvwxyz0123456789_");

	for (size_t i = 0; i < e->count; i++) {
		const char *name = e->size[i].name;

		if (strlen(name) != len || memcmp(name, e->at, len) != 0)
			continue;
		e->at += len;
		return e->size[i].value;
	}
	return fail_unknown(e, len);
}

static int64_t read_number(struct expr *e)
{
	int64_t value = 0;

	for (; *e->at >= '0' && *e->at <= '9'; e->at++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, *e->at - '0', &value))
			return fail(e, "the number is too large");
	return value;
}

static int64_t read_sum(struct expr *e);

static int64_t read_atom(struct expr *e)
{
	char c = peek(e);
	int64_t value;

	if (e->failed)
		return 0;
	if (c >= '0' && c <= '9')
		return read_number(e);
	if ((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_')
		return read_name(e);
	if (c != '(')
		return fail(e, "a number, a size or '(' is wanted where "
			    "something else stands");
	if (++e->depth > KF_EXPR_DEPTH)
		return fail(e, "its parentheses are too deep");
	e->at++;
	value = read_sum(e);
	if (peek(e) != ')')
		return fail(e, "a ')' is missing");
	e->at++;
	e->depth--;
	return value;
}

/* a * b or a / b */
static int64_t read_product(struct expr *e)
{
	int64_t value = read_atom(e);

	while (!e->failed && (peek(e) == '*' || *e->at == '/')) {
		char sign = *e->at++;
		int64_t other = read_atom(e);

		if (e->failed)
			break;
		if (sign == '*') {
			if (__builtin_mul_overflow(value, other, &value))
				return fail(e, "the result is too large");
			continue;
		}
		if (!other)
			return fail(e, "it divides by zero");
		/* The one quotient that overflows needs a divisor of -1. */
		if (other == -1 && value == INT64_MIN)
			return fail(e, "the result is too large");
		if (value % other)
			return fail(e, "its division leaves a remainder");
		value /= other;
	}
	return value;
}

static int64_t read_sum(struct expr *e)
{
	int64_t value = read_product(e);

	while (!e->failed && (peek(e) == '+' || *e->at == '-')) {
		char sign = *e->at++;
		int64_t other = read_product(e);
		bool over = sign == '+' ?
			__builtin_add_overflow(value, other, &value) :
			__builtin_sub_overflow(value, other, &value);

		if (over)
			return fail(e, "the result is too large");
	}
	return value;
}

enum kf_code kf_expr_eval(const char *text, const struct kf_size *size,
			  size_t count, int64_t *out, struct kf_err *err)
{
	struct expr e = { .text = text, .at = text, .size = size,
			  .count = count, .err = err };

	*out = 0;
	if (strlen(text) > KF_EXPR_BYTES)
		return kf_fail(err, KF_E_INPUT, "\"%.20s...\": an expression "
			       "has at most %d bytes", text, KF_EXPR_BYTES);
	*out = read_sum(&e);
	if (!e.failed && peek(&e))
		fail(&e, "it goes on where an operator is wanted");
	if (e.failed)
		*out = 0;
	return e.failed ? KF_E_INPUT : KF_OK;
}
