/* Expressions. */
#include "prompt/jinja_internal.h"

static struct value **slot_of(const struct run *run, const struct ref *ref)
{
	struct scope *scope = run->scope;

	for (unsigned i = 0; i < ref->hops; i++)
		scope = scope->parent;
	return &scope->slot[ref->slot];
}

static struct value *eval_name(struct jinja *j, struct run *run,
			       const struct node *node)
{
	struct value *v = *slot_of(run, &node->ref);

	return v ? v : jinja_undefined(j, "%s is undefined", node->name);
}

static struct value *eval_items(struct jinja *j, struct run *run,
				const struct node *node)
{
	struct value *v = jinja_new(j, node->kind == N_LIST ? V_LIST : V_TUPLE);

	for (size_t i = 0; i < node->kids.count && !jinja_failed(j); i++)
		jinja_push(j, &v->u.list, jinja_eval(j, run, node->kids.at[i]));
	return v;
}

static struct value *eval_dict(struct jinja *j, struct run *run,
			       const struct node *node)
{
	struct value *v = jinja_new(j, V_DICT);

	for (size_t i = 0; i < node->kids.count && !jinja_failed(j); i++) {
		struct value *key = jinja_eval(j, run, node->kids.at[i]);
		struct value *value = jinja_eval(j, run, node->other.at[i]);

		if (!jinja_failed(j))
			jinja_dict_set(j, &v->u.dict, key, value);
	}
	return v;
}

static struct value *eval_cond(struct jinja *j, struct run *run,
			       const struct node *node)
{
	bool yes = jinja_truth(j, jinja_eval(j, run, node->b));
	struct value *v;

	if (jinja_failed(j))
		return &j->none;
	if (yes)
		return jinja_eval(j, run, node->a);
	if (node->c)
		return jinja_eval(j, run, node->c);
	v = jinja_undefined(j, "the inline if on line %u is false and has no "
			    "else", node->line);
	v->u.undefined.lenient = true;
	return v;
}

static struct value *eval_concat(struct jinja *j, struct run *run,
				 const struct node *node)
{
	struct kf_buf out = { .max = JINJA_TEXT_BYTES };

	for (size_t i = 0; i < node->kids.count && !jinja_failed(j); i++)
		jinja_put_str(j, &out, jinja_eval(j, run, node->kids.at[i]));
	return jinja_str_take(j, &out);
}

static bool compare(struct jinja *j, int op, struct value *a, struct value *b)
{
	switch (op) {
	case OP('=', '='):
		return jinja_equal(j, a, b);
	case OP('!', '='):
		return !jinja_equal(j, a, b);
	case 'i':
		return jinja_contains(j, b, a);
	case 'n':
		return !jinja_contains(j, b, a);
	default:
		return jinja_order(j, op, a, b);
	}
}

/* a < b < c: each operand is evaluated once, until one comparison fails. */
static struct value *eval_compare(struct jinja *j, struct run *run,
				  const struct node *node)
{
	struct value *left = jinja_eval(j, run, node->a);
	bool holds = true;

	for (size_t i = 0; i < node->kids.count && holds; i++) {
		const struct node *operand = node->kids.at[i];
		struct value *right;

		if (jinja_failed(j))
			break;
		right = jinja_eval(j, run, operand->b);
		if (jinja_failed(j))
			break;
		holds = compare(j, operand->op, left, right);
		left = right;
	}
	return jinja_bool(j, holds);
}

static struct value *eval_logic(struct jinja *j, struct run *run,
				const struct node *node)
{
	struct value *left = jinja_eval(j, run, node->a);
	bool truth;

	if (jinja_failed(j))
		return left;
	truth = jinja_truth(j, left);
	if (jinja_failed(j) || truth == (node->kind == N_OR))
		return left;
	return jinja_eval(j, run, node->b);
}

static struct value *eval_binary(struct jinja *j, struct run *run,
				 const struct node *node)
{
	struct value *left = jinja_eval(j, run, node->a), *right;

	if (jinja_failed(j))
		return left;
	right = jinja_eval(j, run, node->b);
	return jinja_failed(j) ? right : jinja_arith(j, node->op, left, right);
}

static struct value *eval_slice(struct jinja *j, struct run *run,
				const struct node *node, struct value *v)
{
	const struct node *part[3] = { node->b->a, node->b->b, node->b->c };
	struct value *value[3];

	for (size_t i = 0; i < 3 && !jinja_failed(j); i++)
		value[i] = part[i] ? jinja_eval(j, run, part[i]) : &j->none;
	return jinja_failed(j) ? &j->none : jinja_slice(j, v, value);
}

static struct value *eval_getitem(struct jinja *j, struct run *run,
				  const struct node *node)
{
	struct value *v = jinja_eval(j, run, node->a), *key;

	if (jinja_failed(j))
		return v;
	if (node->b->kind == N_SLICE)
		return eval_slice(j, run, node, v);
	key = jinja_eval(j, run, node->b);
	return jinja_failed(j) ? key : jinja_getitem(j, v, key);
}

static struct value *eval_getattr(struct jinja *j, struct run *run,
				  const struct node *node)
{
	struct value *v = jinja_eval(j, run, node->a);

	j->line = node->line;
	return jinja_failed(j) ? v : jinja_getattr(j, v, node->name);
}

/* --- arguments ------------------------------------------------------- */

static void add_keyword(struct jinja *j, struct args *out, const char *name,
			struct value *value)
{
	for (size_t i = 0; i < out->key_count; i++)
		if (!strcmp(out->key[i], name))
			jinja_fail(j, "%s is given twice", name);
	out->key[out->key_count] = name;
	out->value[out->key_count++] = value;
}

static void room_for_keywords(struct jinja *j, struct args *out, size_t count)
{
	out->key = jinja_alloc(j, (count + 1) * sizeof(out->key[0]));
	out->value = jinja_alloc(j, (count + 1) * sizeof(out->value[0]));
}

static void spread_dict(struct jinja *j, struct args *out, struct value *v)
{
	struct args wide = *out;

	if (v->kind != V_DICT) {
		jinja_fail(j, "** wants a mapping, not a %s",
			   jinja_kind_name(v));
		return;
	}
	room_for_keywords(j, &wide, out->key_count + v->u.dict.count + 1);
	wide.key_count = 0;
	for (size_t i = 0; i < out->key_count; i++)
		add_keyword(j, &wide, out->key[i], out->value[i]);
	for (size_t i = 0; i < v->u.dict.count && !jinja_failed(j); i++) {
		const struct pair *pair = &v->u.dict.at[i];

		if (pair->key->kind != V_STR)
			jinja_fail(j, "keywords must be strings");
		else
			add_keyword(j, &wide, pair->key->u.s.text, pair->value);
	}
	*out = wide;
}

/* Leaves room for one more keyword: a call block adds its caller. */
void jinja_eval_args(struct jinja *j, struct run *run, const struct node *node,
		     struct args *out)
{
	struct list list = { 0 };

	*out = (struct args) { 0 };
	for (size_t i = 0; i < node->kids.count && !jinja_failed(j); i++)
		jinja_push(j, &list, jinja_eval(j, run, node->kids.at[i]));
	if (node->star && !jinja_failed(j)) {
		struct value *v = jinja_eval(j, run, node->star);

		if (!jinja_failed(j))
			v = jinja_list_of(j, v);
		for (size_t i = 0; !jinja_failed(j) && i < v->u.list.count; i++)
			jinja_push(j, &list, v->u.list.at[i]);
	}
	out->at = list.at;
	out->count = list.count;
	room_for_keywords(j, out, node->key_count + 1);
	for (size_t i = 0; i < node->key_count && !jinja_failed(j); i++)
		add_keyword(j, out, node->key[i],
			    jinja_eval(j, run, node->key_value.at[i]));
	if (node->star2 && !jinja_failed(j)) {
		struct value *v = jinja_eval(j, run, node->star2);

		if (!jinja_failed(j))
			spread_dict(j, out, v);
	}
}

static struct value *eval_call(struct jinja *j, struct run *run,
			       const struct node *node)
{
	struct value *callee = jinja_eval(j, run, node->a);
	struct args args;

	if (jinja_failed(j))
		return callee;
	jinja_eval_args(j, run, node, &args);
	j->line = node->line;
	return jinja_failed(j) ? &j->none : jinja_call(j, callee, &args);
}

struct value *jinja_apply_filter(struct jinja *j, struct run *run,
				 const struct node *node, struct value *subject)
{
	struct args args;

	/* A chain of filters ends in the text of a filter block. */
	if (node->a)
		subject = node->a->kind == N_FILTER ?
			jinja_apply_filter(j, run, node->a, subject) :
			jinja_eval(j, run, node->a);
	if (jinja_failed(j))
		return subject;
	jinja_eval_args(j, run, node, &args);
	j->line = node->line;
	return jinja_failed(j) ? &j->none :
		jinja_filter_call(j, node->name, subject, &args);
}

static struct value *eval_test(struct jinja *j, struct run *run,
			       const struct node *node)
{
	struct value *subject = jinja_eval(j, run, node->a);
	struct args args;

	if (jinja_failed(j))
		return subject;
	jinja_eval_args(j, run, node, &args);
	j->line = node->line;
	if (jinja_failed(j))
		return &j->none;
	return jinja_bool(j, jinja_test_call(j, node->name, subject, &args));
}

static struct value *eval_sign(struct jinja *j, struct run *run,
			       const struct node *node)
{
	struct value *v = jinja_eval(j, run, node->a);

	return jinja_failed(j) ? v :
		jinja_sign(j, v, node->kind == N_NEG);
}

static struct value *eval_not(struct jinja *j, struct run *run,
			      const struct node *node)
{
	struct value *v = jinja_eval(j, run, node->a);

	return jinja_failed(j) ? v : jinja_bool(j, !jinja_truth(j, v));
}

static struct value *eval_constant(struct jinja *j, struct run *run,
				   const struct node *node)
{
	(void)j;
	(void)run;
	return node->value;
}

static struct value *eval_filter(struct jinja *j, struct run *run,
				 const struct node *node)
{
	return jinja_apply_filter(j, run, node, &j->none);
}

static struct value *eval_stray_slice(struct jinja *j, struct run *run,
				      const struct node *node)
{
	(void)run;
	(void)node;
	return jinja_fail(j, "a slice among several subscripts");
}

struct value *jinja_eval(struct jinja *j, struct run *run,
			 const struct node *node)
{
	static struct value *(*const eval[])(struct jinja *j, struct run *run,
					     const struct node *node) = {
		[N_DATA] = eval_constant, [N_CONST] = eval_constant,
		[N_NAME] = eval_name, [N_TUPLE] = eval_items,
		[N_LIST] = eval_items, [N_DICT] = eval_dict,
		[N_COND] = eval_cond, [N_FILTER] = eval_filter,
		[N_TEST] = eval_test, [N_CALL] = eval_call,
		[N_GETATTR] = eval_getattr, [N_GETITEM] = eval_getitem,
		[N_SLICE] = eval_stray_slice, [N_CONCAT] = eval_concat,
		[N_COMPARE] = eval_compare, [N_BINARY] = eval_binary,
		[N_AND] = eval_logic, [N_OR] = eval_logic, [N_NOT] = eval_not,
		[N_NEG] = eval_sign, [N_POS] = eval_sign,
	};
	struct value *v = &j->none;

	j->line = node->line;
	if (jinja_enter(j))
		v = eval[node->kind](j, run, node);
	jinja_leave(j);
	return v;
}
