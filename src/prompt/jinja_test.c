/* Tests: what stands after "is". */
#include "prompt/jinja_internal.h"

typedef bool test_fn(struct jinja *j, struct value *v,
		     struct value *const *arg);

static bool is_defined(struct jinja *j, struct value *v,
		       struct value *const *arg)
{
	(void)j;
	(void)arg;
	return v->kind != V_UNDEFINED;
}

static bool is_undefined(struct jinja *j, struct value *v,
			 struct value *const *arg)
{
	(void)j;
	(void)arg;
	return v->kind == V_UNDEFINED;
}

static bool is_none(struct jinja *j, struct value *v, struct value *const *arg)
{
	(void)j;
	(void)arg;
	return v->kind == V_NONE;
}

static bool is_string(struct jinja *j, struct value *v,
		      struct value *const *arg)
{
	(void)j;
	(void)arg;
	return v->kind == V_STR;
}

static bool is_number(struct jinja *j, struct value *v,
		      struct value *const *arg)
{
	(void)j;
	(void)arg;
	return jinja_is_number(v);
}

static bool is_integer(struct jinja *j, struct value *v,
		       struct value *const *arg)
{
	(void)j;
	(void)arg;
	return v->kind == V_INT;
}

static bool is_float(struct jinja *j, struct value *v, struct value *const *arg)
{
	(void)j;
	(void)arg;
	return v->kind == V_FLOAT;
}

static bool is_boolean(struct jinja *j, struct value *v,
		       struct value *const *arg)
{
	(void)j;
	(void)arg;
	return v->kind == V_BOOL;
}

static bool is_true(struct jinja *j, struct value *v, struct value *const *arg)
{
	(void)j;
	(void)arg;
	return v->kind == V_BOOL && v->u.b;
}

static bool is_false(struct jinja *j, struct value *v, struct value *const *arg)
{
	(void)j;
	(void)arg;
	return v->kind == V_BOOL && !v->u.b;
}

static bool is_mapping(struct jinja *j, struct value *v,
		       struct value *const *arg)
{
	(void)j;
	(void)arg;
	return v->kind == V_DICT;
}

/* What has a length and items by index or key. */
static bool is_sequence(struct jinja *j, struct value *v,
			struct value *const *arg)
{
	(void)j;
	(void)arg;
	return v->kind == V_STR || v->kind == V_LIST || v->kind == V_TUPLE ||
		v->kind == V_DICT || v->kind == V_RANGE;
}

static bool is_iterable(struct jinja *j, struct value *v,
			struct value *const *arg)
{
	(void)arg;
	if (v->kind == V_UNDEFINED && !v->u.undefined.lenient)
		jinja_undefined_used(j, v);
	return jinja_iterable(v);
}

static bool is_callable(struct jinja *j, struct value *v,
			struct value *const *arg)
{
	(void)j;
	(void)arg;
	return v->kind == V_MACRO || v->kind == V_FUNCTION ||
		v->kind == V_METHOD || v->kind == V_LOOP ||
		v->kind == V_BLOCK || v->kind == V_UNDEFINED;
}

static bool remainder_is(struct jinja *j, struct value *v, struct value *by,
			 int64_t wanted)
{
	struct value *rest = jinja_arith(j, '%', v, by);

	return !jinja_failed(j) && jinja_equal(j, rest, jinja_int(j, wanted));
}

static bool is_odd(struct jinja *j, struct value *v, struct value *const *arg)
{
	(void)arg;
	return remainder_is(j, v, jinja_int(j, 2), 1);
}

static bool is_even(struct jinja *j, struct value *v, struct value *const *arg)
{
	(void)arg;
	return remainder_is(j, v, jinja_int(j, 2), 0);
}

static bool is_divisibleby(struct jinja *j, struct value *v,
			   struct value *const *arg)
{
	return remainder_is(j, v, arg[0], 0);
}

/* All letters in one case, and at least one letter that has a case. */
static bool same_case(struct jinja *j, struct value *v, bool upper)
{
	struct value *s = jinja_to_str(j, v);
	struct value *up = jinja_upper(j, s), *low = jinja_lower(j, s);

	return !jinja_failed(j) && !jinja_equal(j, up, low) &&
		jinja_equal(j, s, upper ? up : low);
}

static bool is_lower(struct jinja *j, struct value *v, struct value *const *arg)
{
	(void)arg;
	return same_case(j, v, false);
}

static bool is_upper(struct jinja *j, struct value *v, struct value *const *arg)
{
	(void)arg;
	return same_case(j, v, true);
}

static bool is_eq(struct jinja *j, struct value *v, struct value *const *arg)
{
	return jinja_equal(j, v, arg[0]);
}

static bool is_ne(struct jinja *j, struct value *v, struct value *const *arg)
{
	return !jinja_equal(j, v, arg[0]);
}

static bool is_lt(struct jinja *j, struct value *v, struct value *const *arg)
{
	return jinja_order(j, '<', v, arg[0]);
}

static bool is_le(struct jinja *j, struct value *v, struct value *const *arg)
{
	return jinja_order(j, OP('<', '='), v, arg[0]);
}

static bool is_gt(struct jinja *j, struct value *v, struct value *const *arg)
{
	return jinja_order(j, '>', v, arg[0]);
}

static bool is_ge(struct jinja *j, struct value *v, struct value *const *arg)
{
	return jinja_order(j, OP('>', '='), v, arg[0]);
}

static bool is_in(struct jinja *j, struct value *v, struct value *const *arg)
{
	return jinja_contains(j, arg[0], v);
}

static bool is_filter(struct jinja *j, struct value *v,
		      struct value *const *arg)
{
	(void)j;
	(void)arg;
	return v->kind == V_STR && jinja_filter_find(v->u.s.text);
}

static bool is_test(struct jinja *j, struct value *v, struct value *const *arg)
{
	(void)j;
	(void)arg;
	return v->kind == V_STR && jinja_test_exists(v->u.s.text);
}

static const struct {
	const char *name;
	const char *parameters;
	test_fn *call;
} tests[] = {
	{ "defined", "", is_defined }, { "undefined", "", is_undefined },
	{ "none", "", is_none }, { "string", "", is_string },
	{ "number", "", is_number }, { "integer", "", is_integer },
	{ "float", "", is_float }, { "boolean", "", is_boolean },
	{ "true", "", is_true }, { "false", "", is_false },
	{ "mapping", "", is_mapping }, { "sequence", "", is_sequence },
	{ "iterable", "", is_iterable }, { "callable", "", is_callable },
	{ "odd", "", is_odd }, { "even", "", is_even },
	{ "divisibleby", "num", is_divisibleby },
	{ "lower", "", is_lower }, { "upper", "", is_upper },
	{ "==", "b", is_eq }, { "eq", "b", is_eq }, { "equalto", "b", is_eq },
	{ "!=", "b", is_ne }, { "ne", "b", is_ne },
	{ "<", "b", is_lt }, { "lt", "b", is_lt }, { "lessthan", "b", is_lt },
	{ "<=", "b", is_le }, { "le", "b", is_le },
	{ ">", "b", is_gt }, { "gt", "b", is_gt },
	{ "greaterthan", "b", is_gt },
	{ ">=", "b", is_ge }, { "ge", "b", is_ge },
	{ "in", "seq", is_in }, { "filter", "", is_filter },
	{ "test", "", is_test },
};

bool jinja_test_exists(const char *name)
{
	for (size_t i = 0; i < KF_COUNT(tests); i++)
		if (!strcmp(tests[i].name, name))
			return true;
	return false;
}

bool jinja_test_call(struct jinja *j, const char *name, struct value *subject,
		     const struct args *args)
{
	for (size_t i = 0; i < KF_COUNT(tests); i++) {
		struct args bound;

		if (strcmp(tests[i].name, name) != 0)
			continue;
		if (!jinja_bind(j, name, tests[i].parameters,
				*tests[i].parameters ? 1 : 0, args, &bound))
			return false;
		return tests[i].call(j, subject, bound.at);
	}
	jinja_fail(j, "no test is called %s", name);
	return false;
}
