/*
 * Tokens -> tree, expressions. From loosest to tightest:
 *	if-else, or, and, not, comparisons and in, + -, ~, * / // %, **,
 *	sign, call . [], filters and tests
 */
#include "prompt/jinja_internal.h"

struct node *jinja_node(struct parser *p, enum node_kind kind, unsigned line)
{
	struct node *node = jinja_alloc(p->j, sizeof(*node));

	node->kind = kind;
	node->line = line;
	return node;
}

void jinja_nodes_add(struct jinja *j, struct nodes *list, struct node *node)
{
	if (list->count == list->cap) {
		size_t cap = list->cap ? 2 * list->cap : 4;
		struct node **at = jinja_alloc(j, cap * sizeof(at[0]));

		if (list->count)
			memcpy(at, list->at, list->count * sizeof(at[0]));
		list->at = at;
		list->cap = cap;
	}
	list->at[list->count++] = node;
}

struct token *jinja_peek(const struct parser *p)
{
	return &p->at[p->next];
}

/* The end of the text is never passed. */
struct token *jinja_take(struct parser *p)
{
	struct token *token = &p->at[p->next];

	if (token->kind != T_EOF)
		p->next++;
	p->j->line = p->at[p->next].line;
	return token;
}

bool jinja_at_op(const struct parser *p, int op)
{
	return jinja_peek(p)->kind == T_OP && jinja_peek(p)->op == op;
}

bool jinja_at_name(const struct parser *p, const char *name)
{
	return jinja_peek(p)->kind == T_NAME &&
		!strcmp(jinja_peek(p)->text, name);
}

bool jinja_take_op(struct parser *p, int op)
{
	bool here = jinja_at_op(p, op);

	if (here)
		jinja_take(p);
	return here;
}

bool jinja_take_name(struct parser *p, const char *name)
{
	bool here = jinja_at_name(p, name);

	if (here)
		jinja_take(p);
	return here;
}

static void describe(const struct token *token, char out[64])
{
	static const char *const what[] = {
		[T_DATA] = "text", [T_PRINT_BEGIN] = "{{",
		[T_PRINT_END] = "}}", [T_TAG_BEGIN] = "{%", [T_TAG_END] = "%}",
		[T_STRING] = "a string", [T_INT] = "a number",
		[T_FLOAT] = "a number", [T_EOF] = "the end of the template",
	};

	if (token->kind == T_NAME)
		snprintf(out, 64, "%.60s", token->text);
	else if (token->kind == T_OP && token->op > 255)
		snprintf(out, 64, "%c%c", token->op >> 8, token->op & 255);
	else if (token->kind == T_OP)
		snprintf(out, 64, "%c", token->op);
	else
		snprintf(out, 64, "%s", what[token->kind]);
}

struct node *jinja_unexpected(struct parser *p, const char *wanted)
{
	struct token *token = jinja_peek(p);
	char what[64];

	describe(token, what);
	p->j->line = token->line;
	jinja_fail(p->j, "expected %s, got '%s'", wanted, what);
	return jinja_node(p, N_CONST, token->line);
}

void jinja_expect_op(struct parser *p, int op)
{
	char wanted[] = { '\'', (char)op, '\'', '\0' };

	if (!jinja_take_op(p, op))
		jinja_unexpected(p, wanted);
}

const char *jinja_expect_name(struct parser *p)
{
	if (jinja_peek(p)->kind == T_NAME)
		return jinja_take(p)->text;
	jinja_unexpected(p, "a name");
	return "";
}

/* --- primary --------------------------------------------------------- */

static struct node *constant(struct parser *p, struct value *value)
{
	struct node *node = jinja_node(p, N_CONST, jinja_take(p)->line);

	node->value = value;
	return node;
}

static struct node *parse_name(struct parser *p)
{
	static const struct { const char *name; char kind; } known[] = {
		{ "true", 'y' }, { "True", 'y' }, { "false", 'n' },
		{ "False", 'n' }, { "none", '0' }, { "None", '0' },
	};
	struct node *node;

	for (size_t i = 0; i < KF_COUNT(known); i++)
		if (jinja_at_name(p, known[i].name))
			return constant(p, known[i].kind == '0' ? &p->j->none :
					jinja_bool(p->j, known[i].kind == 'y'));
	node = jinja_node(p, N_NAME, jinja_peek(p)->line);
	node->name = jinja_take(p)->text;
	return node;
}

static struct node *parse_strings(struct parser *p)
{
	struct kf_buf text = { .max = JINJA_TEXT_BYTES };
	struct node *node = jinja_node(p, N_CONST, jinja_peek(p)->line);

	while (jinja_peek(p)->kind == T_STRING) {
		const struct token *token = jinja_take(p);

		kf_buf_add(&text, token->text, token->len);
	}
	node->value = jinja_str_take(p->j, &text);
	return node;
}

static struct node *parse_list(struct parser *p)
{
	struct node *node = jinja_node(p, N_LIST, jinja_take(p)->line);

	while (!jinja_at_op(p, ']') && !jinja_failed(p->j)) {
		if (node->kids.count) {
			jinja_expect_op(p, ',');
			if (jinja_at_op(p, ']'))
				break;
		}
		jinja_nodes_add(p->j, &node->kids, jinja_parse_expr(p, true));
	}
	jinja_expect_op(p, ']');
	return node;
}

static struct node *parse_dict(struct parser *p)
{
	struct node *node = jinja_node(p, N_DICT, jinja_take(p)->line);

	while (!jinja_at_op(p, '}') && !jinja_failed(p->j)) {
		if (node->kids.count) {
			jinja_expect_op(p, ',');
			if (jinja_at_op(p, '}'))
				break;
		}
		jinja_nodes_add(p->j, &node->kids, jinja_parse_expr(p, true));
		jinja_expect_op(p, ':');
		jinja_nodes_add(p->j, &node->other, jinja_parse_expr(p, true));
	}
	jinja_expect_op(p, '}');
	return node;
}

enum tuple_of { OF_PRIMARY, OF_EXPR, OF_EXPR_WITHOUT_COND };

static bool at_tuple_end(struct parser *p, const char *end)
{
	enum token_kind kind = jinja_peek(p)->kind;

	return kind == T_PRINT_END || kind == T_TAG_END ||
		jinja_at_op(p, ')') || (end && jinja_at_name(p, end));
}

static struct node *parse_tuple(struct parser *p, enum tuple_of of,
				const char *end, bool in_brackets)
{
	struct node *tuple = jinja_node(p, N_TUPLE, jinja_peek(p)->line);
	bool comma = false;

	while (!jinja_failed(p->j)) {
		struct node *item;

		if (at_tuple_end(p, end))
			break;
		item = of == OF_PRIMARY ? jinja_parse_primary(p) :
			jinja_parse_expr(p, of == OF_EXPR);
		jinja_nodes_add(p->j, &tuple->kids, item);
		if (!jinja_take_op(p, ','))
			break;
		comma = true;
	}
	if (comma || jinja_failed(p->j))
		return tuple;
	if (tuple->kids.count)
		return tuple->kids.at[0];
	return in_brackets ? tuple : jinja_unexpected(p, "an expression");
}

struct node *jinja_parse_tuple(struct parser *p, bool with_cond,
			       const char *end)
{
	return parse_tuple(p, with_cond ? OF_EXPR : OF_EXPR_WITHOUT_COND, end,
			   false);
}

struct node *jinja_parse_primary(struct parser *p)
{
	struct token *token = jinja_peek(p);
	struct node *node;

	switch (token->kind) {
	case T_NAME:
		return parse_name(p);
	case T_STRING:
		return parse_strings(p);
	case T_INT:
		return constant(p, jinja_int(p->j, token->i));
	case T_FLOAT:
		return constant(p, jinja_float(p->j, token->f));
	default:
		break;
	}
	if (jinja_at_op(p, '['))
		return parse_list(p);
	if (jinja_at_op(p, '{'))
		return parse_dict(p);
	if (!jinja_take_op(p, '('))
		return jinja_unexpected(p, "an expression");
	node = parse_tuple(p, OF_EXPR, NULL, true);
	jinja_expect_op(p, ')');
	return node;
}

/* --- what can be assigned to ----------------------------------------- */

static void make_target(struct parser *p, struct node *node)
{
	if (jinja_failed(p->j))
		return;
	p->j->line = node->line;
	if (node->kind == N_NAME) {
		node->store = true;
		return;
	}
	if (node->kind != N_TUPLE) {
		jinja_fail(p->j, "cannot assign to this");
		return;
	}
	for (size_t i = 0; i < node->kids.count; i++)
		make_target(p, node->kids.at[i]);
}

struct node *jinja_parse_target(struct parser *p, const char *end)
{
	unsigned line = p->j->line;
	struct node *node = parse_tuple(p, OF_PRIMARY, end, false);

	make_target(p, node);
	if (!jinja_failed(p->j))
		p->j->line = line;
	return node;
}

/* --- operators ------------------------------------------------------- */

static bool deeper(struct parser *p)
{
	if (++p->j->parse_depth > JINJA_PARSE_DEPTH)
		jinja_limit(p->j, "nested more than %u deep",
			    JINJA_PARSE_DEPTH);
	return !jinja_failed(p->j);
}

static struct node *parse_unary(struct parser *p, bool with_filters)
{
	struct node *node;
	unsigned line = jinja_peek(p)->line;

	if (!deeper(p)) {
		node = jinja_node(p, N_CONST, line);
	} else if (jinja_at_op(p, '-') || jinja_at_op(p, '+')) {
		node = jinja_node(p, jinja_at_op(p, '-') ? N_NEG : N_POS, line);
		jinja_take(p);
		node->a = parse_unary(p, false);
	} else {
		node = jinja_parse_primary(p);
	}
	p->j->parse_depth--;
	node = jinja_parse_postfix(p, node);
	while (with_filters && !jinja_failed(p->j)) {
		if (jinja_at_op(p, '|'))
			node = jinja_parse_filters(p, node, false);
		else if (jinja_at_name(p, "is"))
			node = jinja_parse_test(p, node);
		else if (jinja_at_op(p, '('))
			node = jinja_parse_call(p, node);
		else
			break;
	}
	return node;
}

static struct node *binary(struct parser *p, int op, struct node *left,
			   struct node *right)
{
	struct node *node = jinja_node(p, N_BINARY, left->line);

	node->op = op;
	node->a = left;
	node->b = right;
	return node;
}

static struct node *parse_power(struct parser *p)
{
	struct node *left = parse_unary(p, true);

	while (jinja_take_op(p, OP('*', '*')))
		left = binary(p, OP('*', '*'), left, parse_unary(p, true));
	return left;
}

static struct node *parse_product(struct parser *p)
{
	static const int ops[] = { '*', '/', OP('/', '/'), '%' };
	struct node *left = parse_power(p);

	for (size_t i = 0; i < KF_COUNT(ops);) {
		if (!jinja_take_op(p, ops[i])) {
			i++;
			continue;
		}
		left = binary(p, ops[i], left, parse_power(p));
		i = 0;
	}
	return left;
}

static struct node *parse_concat(struct parser *p)
{
	struct node *first = parse_product(p), *concat;

	if (!jinja_at_op(p, '~'))
		return first;
	concat = jinja_node(p, N_CONCAT, first->line);
	jinja_nodes_add(p->j, &concat->kids, first);
	while (jinja_take_op(p, '~'))
		jinja_nodes_add(p->j, &concat->kids, parse_product(p));
	return concat;
}

static struct node *parse_sum(struct parser *p)
{
	struct node *left = parse_concat(p);

	while (jinja_at_op(p, '+') || jinja_at_op(p, '-')) {
		int op = jinja_take(p)->op;

		left = binary(p, op, left, parse_concat(p));
	}
	return left;
}

/* 'i' in, 'n' not in, or the operator; 0 when there is no comparison. */
static int take_comparison(struct parser *p)
{
	static const int ops[] = { OP('=', '='), OP('!', '='), '<', '>',
				   OP('<', '='), OP('>', '=') };
	const struct token *next = jinja_peek(p) + 1;

	for (size_t i = 0; i < KF_COUNT(ops); i++)
		if (jinja_take_op(p, ops[i]))
			return ops[i];
	if (jinja_take_name(p, "in"))
		return 'i';
	if (!jinja_at_name(p, "not") || next->kind != T_NAME ||
	    strcmp(next->text, "in") != 0)
		return 0;
	jinja_take(p);
	jinja_take(p);
	return 'n';
}

/* kids: operands; each but the first carries its operator in ->value's place:
 * a node of kind N_BINARY with op and operand. */
static struct node *parse_compare(struct parser *p)
{
	struct node *first = parse_sum(p), *compare;
	int op = take_comparison(p);

	if (!op)
		return first;
	compare = jinja_node(p, N_COMPARE, first->line);
	compare->a = first;
	for (; op; op = take_comparison(p)) {
		struct node *operand = jinja_node(p, N_BINARY, p->j->line);

		operand->op = op;
		operand->b = parse_sum(p);
		jinja_nodes_add(p->j, &compare->kids, operand);
	}
	return compare;
}

static struct node *parse_not(struct parser *p)
{
	unsigned line = jinja_peek(p)->line;
	struct node *node;

	if (!jinja_take_name(p, "not"))
		return parse_compare(p);
	node = jinja_node(p, N_NOT, line);
	if (deeper(p))
		node->a = parse_not(p);
	p->j->parse_depth--;
	return node;
}

static struct node *parse_and(struct parser *p)
{
	struct node *left = parse_not(p);

	while (jinja_take_name(p, "and")) {
		left = binary(p, 0, left, parse_not(p));
		left->kind = N_AND;
	}
	return left;
}

static struct node *parse_or(struct parser *p)
{
	struct node *left = parse_and(p);

	while (jinja_take_name(p, "or")) {
		left = binary(p, 0, left, parse_and(p));
		left->kind = N_OR;
	}
	return left;
}

static struct node *parse_cond(struct parser *p)
{
	struct node *node = parse_or(p);

	while (jinja_take_name(p, "if")) {
		struct node *cond = jinja_node(p, N_COND, node->line);

		cond->a = node;
		cond->b = parse_or(p);
		if (jinja_take_name(p, "else"))
			cond->c = jinja_parse_expr(p, true);
		node = cond;
	}
	return node;
}

struct node *jinja_parse_expr(struct parser *p, bool with_cond)
{
	struct node *node = NULL;

	if (deeper(p))
		node = with_cond ? parse_cond(p) : parse_or(p);
	p->j->parse_depth--;
	return node ? node : jinja_node(p, N_CONST, p->j->line);
}
