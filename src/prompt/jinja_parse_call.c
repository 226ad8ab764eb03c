/* Tokens -> tree: what follows a value. Calls, subscripts, filters, tests. */
#include "prompt/jinja_internal.h"

struct call_args { const char **key; size_t cap; };

static void add_keyword(struct parser *p, struct node *node,
			struct call_args *args, const char *name)
{
	for (size_t i = 0; i < node->key_count; i++)
		if (!strcmp(node->key[i], name))
			jinja_fail(p->j, "%s is given twice", name);
	if (node->key_count == args->cap) {
		size_t cap = args->cap ? 2 * args->cap : 4;
		const char **key = jinja_alloc(p->j, cap * sizeof(key[0]));

		if (node->key_count)
			memcpy(key, node->key,
			       node->key_count * sizeof(key[0]));
		node->key = args->key = key;
		args->cap = cap;
	}
	node->key[node->key_count++] = name;
	jinja_nodes_add(p->j, &node->key_value, jinja_parse_expr(p, true));
}

static bool at_keyword(struct parser *p)
{
	const struct token *next = jinja_peek(p) + 1;

	return jinja_peek(p)->kind == T_NAME && next->kind == T_OP &&
		next->op == '=';
}

/* Arguments, from '(' to ')', into node. */
static void parse_args(struct parser *p, struct node *node)
{
	struct call_args args = { 0 };
	bool first = true, good = true;

	jinja_expect_op(p, '(');
	while (!jinja_at_op(p, ')') && !jinja_failed(p->j)) {
		if (!first) {
			jinja_expect_op(p, ',');
			if (jinja_at_op(p, ')'))
				break;
		}
		first = false;
		if (jinja_take_op(p, '*')) {
			good = !node->star && !node->star2;
			node->star = jinja_parse_expr(p, true);
		} else if (jinja_take_op(p, OP('*', '*'))) {
			good = !node->star2;
			node->star2 = jinja_parse_expr(p, true);
		} else if (at_keyword(p)) {
			const char *name = jinja_take(p)->text;

			good = !node->star2;
			jinja_take(p);
			add_keyword(p, node, &args, name);
		} else {
			good = !node->star && !node->star2 &&
				!node->key_count;
			jinja_nodes_add(p->j, &node->kids,
					jinja_parse_expr(p, true));
		}
		if (!good)
			jinja_fail(p->j, "arguments in a wrong order");
	}
	jinja_expect_op(p, ')');
}

struct node *jinja_parse_call(struct parser *p, struct node *callee)
{
	struct node *node = jinja_node(p, N_CALL, jinja_peek(p)->line);

	node->a = callee;
	parse_args(p, node);
	return node;
}

static struct node *parse_slice_or_index(struct parser *p)
{
	struct node *part[3] = { NULL, NULL, NULL }, *slice;
	size_t at = 0;

	slice = jinja_node(p, N_SLICE, jinja_peek(p)->line);
	if (!jinja_at_op(p, ':')) {
		part[0] = jinja_parse_expr(p, true);
		if (!jinja_at_op(p, ':'))
			return part[0];
	}
	while (at < 2 && jinja_take_op(p, ':')) {
		at++;
		if (!jinja_at_op(p, ':') && !jinja_at_op(p, ']') &&
		    !jinja_at_op(p, ','))
			part[at] = jinja_parse_expr(p, true);
	}
	slice->a = part[0];
	slice->b = part[1];
	slice->c = part[2];
	return slice;
}

static struct node *parse_subscript(struct parser *p, struct node *subject)
{
	unsigned line = jinja_peek(p)->line;
	struct node *node = jinja_node(p, N_GETITEM, line);
	struct node *tuple = jinja_node(p, N_TUPLE, line);

	node->a = subject;
	if (jinja_take_op(p, '.')) {
		if (jinja_peek(p)->kind == T_INT) {
			node->b = jinja_parse_primary(p);
		} else if (jinja_peek(p)->kind == T_NAME) {
			node->kind = N_GETATTR;
			node->name = jinja_take(p)->text;
		} else {
			jinja_unexpected(p, "a name or a number");
		}
		return node;
	}
	jinja_take(p);
	while (!jinja_at_op(p, ']') && !jinja_failed(p->j)) {
		if (tuple->kids.count)
			jinja_expect_op(p, ',');
		jinja_nodes_add(p->j, &tuple->kids, parse_slice_or_index(p));
	}
	jinja_expect_op(p, ']');
	node->b = tuple->kids.count == 1 ? tuple->kids.at[0] : tuple;
	return node;
}

struct node *jinja_parse_postfix(struct parser *p, struct node *node)
{
	while (!jinja_failed(p->j)) {
		if (jinja_at_op(p, '.') || jinja_at_op(p, '['))
			node = parse_subscript(p, node);
		else if (jinja_at_op(p, '('))
			node = jinja_parse_call(p, node);
		else
			break;
	}
	return node;
}

/* "name" or "name.name": no filter or test of ours has a dot, but the text is
 * well-formed and the message should name it whole. */
static const char *dotted_name(struct parser *p)
{
	const char *name = jinja_expect_name(p);

	while (jinja_take_op(p, '.')) {
		char *whole = kf_format("%s.%s", name, jinja_expect_name(p));

		name = jinja_copy(p->j, whole, strlen(whole));
		free(whole);
	}
	return name;
}

struct node *jinja_parse_filters(struct parser *p, struct node *subject,
				 bool first_is_bare)
{
	while (first_is_bare || jinja_at_op(p, '|')) {
		struct node *node;

		if (!first_is_bare)
			jinja_take(p);
		first_is_bare = false;
		node = jinja_node(p, N_FILTER, jinja_peek(p)->line);
		node->a = subject;
		node->name = dotted_name(p);
		if (jinja_at_op(p, '('))
			parse_args(p, node);
		subject = node;
		if (jinja_failed(p->j))
			break;
	}
	return subject;
}

static bool at_bare_argument(struct parser *p)
{
	const struct token *token = jinja_peek(p);

	if (token->kind == T_NAME)
		return !jinja_at_name(p, "else") && !jinja_at_name(p, "or") &&
			!jinja_at_name(p, "and");
	return token->kind == T_STRING || token->kind == T_INT ||
		token->kind == T_FLOAT || jinja_at_op(p, '[') ||
		jinja_at_op(p, '{');
}

struct node *jinja_parse_test(struct parser *p, struct node *subject)
{
	unsigned line = jinja_take(p)->line;
	struct node *test = jinja_node(p, N_TEST, line), *not;
	bool negated = jinja_take_name(p, "not");

	test->a = subject;
	test->name = dotted_name(p);
	if (jinja_at_op(p, '(')) {
		parse_args(p, test);
	} else if (at_bare_argument(p)) {
		if (jinja_at_name(p, "is"))
			jinja_unexpected(p, "one test, not a chain of them");
		else
			jinja_nodes_add(p->j, &test->kids, jinja_parse_postfix(
				p, jinja_parse_primary(p)));
	}
	if (!negated)
		return test;
	not = jinja_node(p, N_NOT, line);
	not->a = test;
	return not;
}
