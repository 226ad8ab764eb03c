/* Tokens -> tree, statements. */
#include "prompt/jinja_internal.h"

static void parse_body(struct parser *p, struct nodes *out,
		       const char *const *end);

static bool at_end_of(struct parser *p, const char *const *end)
{
	for (; end && *end; end++)
		if (jinja_at_name(p, *end))
			return true;
	return false;
}

static void expect_tag_end(struct parser *p)
{
	if (jinja_peek(p)->kind == T_TAG_END)
		jinja_take(p);
	else
		jinja_fail(p->j, "expected the end of the tag");
}

/* The body of a tag, up to one of the end tags, whose name is left to take. */
static void parse_block_body(struct parser *p, struct nodes *out,
			     const char *const *end)
{
	unsigned line = p->j->line;

	jinja_take_op(p, ':');
	expect_tag_end(p);
	parse_body(p, out, end);
	if (!jinja_failed(p->j) && !at_end_of(p, end)) {
		p->j->line = line;
		jinja_fail(p->j, "%s is missing", end[0]);
	}
}

static void parse_until(struct parser *p, struct nodes *out, const char *name)
{
	const char *const end[] = { name, NULL };

	parse_block_body(p, out, end);
	jinja_take(p);
}

static struct node *begin(struct parser *p, enum node_kind kind)
{
	return jinja_node(p, kind, jinja_take(p)->line);
}

static struct node *parse_for(struct parser *p)
{
	static const char *const end[] = { "endfor", "else", NULL };
	struct node *node = begin(p, N_FOR);

	node->a = jinja_parse_target(p, "in");
	if (!jinja_take_name(p, "in"))
		jinja_fail(p->j, "for wants \"in\"");
	node->b = jinja_parse_tuple(p, false, "recursive");
	if (jinja_take_name(p, "if"))
		node->c = jinja_parse_expr(p, true);
	node->flag = jinja_take_name(p, "recursive");
	parse_block_body(p, &node->body, end);
	if (jinja_take_name(p, "else"))
		parse_until(p, &node->other, "endfor");
	else
		jinja_take(p);
	return node;
}

static struct node *parse_if(struct parser *p)
{
	static const char *const end[] = { "endif", "elif", "else", NULL };
	struct node *first = begin(p, N_IF), *node = first;

	for (;;) {
		node->a = jinja_parse_tuple(p, false, NULL);
		parse_block_body(p, &node->body, end);
		if (jinja_failed(p->j) || !jinja_at_name(p, "elif"))
			break;
		node = begin(p, N_IF);
		jinja_nodes_add(p->j, &first->elif, node);
	}
	if (jinja_take_name(p, "else"))
		parse_until(p, &first->other, "endif");
	else
		jinja_take(p);
	return first;
}

/* kids: parameters; other: their defaults, for the last of them. */
static void parse_signature(struct parser *p, struct node *node)
{
	jinja_expect_op(p, '(');
	while (!jinja_at_op(p, ')') && !jinja_failed(p->j)) {
		struct node *name;

		if (node->kids.count)
			jinja_expect_op(p, ',');
		name = jinja_node(p, N_NAME, p->j->line);
		name->name = jinja_expect_name(p);
		name->parameter = true;
		for (size_t i = 0; i < node->kids.count; i++)
			if (!strcmp(node->kids.at[i]->name, name->name))
				jinja_fail(p->j, "two parameters are called %s",
					   name->name);
		jinja_nodes_add(p->j, &node->kids, name);
		if (jinja_take_op(p, '='))
			jinja_nodes_add(p->j, &node->other,
					jinja_parse_expr(p, true));
		else if (node->other.count)
			jinja_fail(p->j, "a parameter without default follows "
				   "one with a default");
	}
	jinja_expect_op(p, ')');
}

/* Names of constants cannot be assigned to. */
static const char *target_name(struct parser *p)
{
	static const char *const not[] = { "true", "True", "false", "False",
					   "none", "None" };
	const char *name = jinja_expect_name(p);

	for (size_t i = 0; i < KF_COUNT(not); i++)
		if (!strcmp(name, not[i]))
			jinja_fail(p->j, "cannot assign to %s", name);
	return name;
}

static struct node *parse_macro(struct parser *p)
{
	struct node *node = begin(p, N_MACRO);

	node->name = target_name(p);
	parse_signature(p, node);
	parse_until(p, &node->body, "endmacro");
	return node;
}

static struct node *parse_call_block(struct parser *p)
{
	struct node *node = begin(p, N_CALL_BLOCK);

	if (jinja_at_op(p, '('))
		parse_signature(p, node);
	node->a = jinja_parse_expr(p, true);
	if (node->a->kind != N_CALL)
		jinja_fail(p->j, "a call block wants a call");
	parse_until(p, &node->body, "endcall");
	return node;
}

static struct node *parse_filter_block(struct parser *p)
{
	struct node *node = begin(p, N_FILTER_BLOCK);

	node->a = jinja_parse_filters(p, NULL, true);
	parse_until(p, &node->body, "endfilter");
	return node;
}

static void make_parameter(struct node *target)
{
	target->store = false;
	target->parameter = true;
	for (size_t i = 0; i < target->kids.count; i++)
		make_parameter(target->kids.at[i]);
}

static struct node *parse_with(struct parser *p)
{
	struct node *node = begin(p, N_WITH);

	while (jinja_peek(p)->kind != T_TAG_END && !jinja_failed(p->j)) {
		struct node *target;

		if (node->kids.count)
			jinja_expect_op(p, ',');
		target = jinja_parse_target(p, NULL);
		make_parameter(target);
		jinja_nodes_add(p->j, &node->kids, target);
		jinja_expect_op(p, '=');
		jinja_nodes_add(p->j, &node->other, jinja_parse_expr(p, true));
	}
	parse_until(p, &node->body, "endwith");
	return node;
}

static struct node *parse_set_target(struct parser *p)
{
	const struct token *next = jinja_peek(p) + 1;
	struct node *node;

	if (jinja_peek(p)->kind == T_EOF || next->kind != T_OP ||
	    next->op != '.')
		return jinja_parse_target(p, NULL);
	node = jinja_node(p, N_NSREF, p->j->line);
	node->name = jinja_expect_name(p);
	jinja_take(p);
	node->attr = jinja_expect_name(p);
	return node;
}

static struct node *parse_set(struct parser *p)
{
	struct node *node = begin(p, N_SET);

	node->a = parse_set_target(p);
	if (jinja_take_op(p, '=')) {
		node->b = jinja_parse_tuple(p, true, NULL);
		return node;
	}
	node->kind = N_SET_BLOCK;
	node->b = jinja_parse_filters(p, NULL, false);
	parse_until(p, &node->body, "endset");
	return node;
}

static bool all_space(const struct nodes *body)
{
	for (size_t i = 0; i < body->count; i++) {
		const struct node *node = body->at[i];

		if (node->kind != N_OUTPUT)
			return false;
		for (size_t k = 0; k < node->kids.count; k++) {
			const struct node *data = node->kids.at[k];

			if (data->kind != N_DATA ||
			    jinja_skip_space(data->value->u.s.text,
					     data->value->u.s.len, 0) <
			    data->value->u.s.len)
				return false;
		}
	}
	return true;
}

static struct node *parse_block(struct parser *p)
{
	struct node *node = begin(p, N_BLOCK);

	node->name = jinja_expect_name(p);
	node->flag = jinja_take_name(p, "scoped");
	node->required = jinja_take_name(p, "required");
	jinja_nodes_add(p->j, &p->template->blocks, node);
	parse_until(p, &node->body, "endblock");
	if (node->required && !all_space(&node->body))
		jinja_fail(p->j, "a required block can hold nothing but space");
	jinja_take_name(p, node->name);
	return node;
}

static struct node *parse_extends(struct parser *p)
{
	struct node *node = begin(p, N_EXTENDS);

	node->a = jinja_parse_expr(p, true);
	p->template->has_extends = true;
	return node;
}

static bool take_context(struct parser *p, struct node *node)
{
	bool with = jinja_at_name(p, "with");
	const struct token *next = jinja_peek(p) + 1;

	if ((!with && !jinja_at_name(p, "without")) || next->kind != T_NAME ||
	    strcmp(next->text, "context") != 0)
		return false;
	jinja_take(p);
	jinja_take(p);
	node->with_context = with;
	return true;
}

static struct node *parse_include(struct parser *p)
{
	struct node *node = begin(p, N_INCLUDE);
	const struct token *next;

	node->a = jinja_parse_expr(p, true);
	next = jinja_peek(p) + 1;
	if (jinja_at_name(p, "ignore") && next->kind == T_NAME &&
	    !strcmp(next->text, "missing")) {
		jinja_take(p);
		jinja_take(p);
		node->flag = true;
	}
	node->with_context = true;
	take_context(p, node);
	return node;
}

static struct node *parse_import(struct parser *p)
{
	struct node *node = begin(p, N_IMPORT);

	node->a = jinja_parse_expr(p, true);
	if (!jinja_take_name(p, "as"))
		jinja_fail(p->j, "import wants \"as NAME\"");
	node->name = target_name(p);
	take_context(p, node);
	return node;
}

static void add_import(struct parser *p, struct node *node, size_t *cap)
{
	size_t n = node->key_count;

	if (n == *cap) {
		size_t more = *cap ? 2 * *cap : 4;
		const char **key = jinja_alloc(p->j, more * sizeof(key[0]));
		const char **alias = jinja_alloc(p->j, more * sizeof(key[0]));

		if (n) {
			memcpy(key, node->key, n * sizeof(key[0]));
			memcpy(alias, node->alias, n * sizeof(key[0]));
		}
		node->key = key;
		node->alias = alias;
		*cap = more;
	}
	node->key[n] = target_name(p);
	if (node->key[n][0] == '_')
		jinja_fail(p->j, "%s begins with _ and cannot be imported",
			   node->key[n]);
	node->alias[n] = jinja_take_name(p, "as") ? target_name(p) :
						    node->key[n];
	node->key_count++;
}

static struct node *parse_from(struct parser *p)
{
	struct node *node = begin(p, N_FROM);
	size_t cap = 0;

	node->a = jinja_parse_expr(p, true);
	if (!jinja_take_name(p, "import"))
		jinja_fail(p->j, "from wants \"import\"");
	while (!jinja_failed(p->j)) {
		if (node->key_count)
			jinja_expect_op(p, ',');
		if (jinja_peek(p)->kind == T_NAME && take_context(p, node))
			break;
		add_import(p, node, &cap);
		if (take_context(p, node) || !jinja_at_op(p, ','))
			break;
	}
	return node;
}

static struct node *parse_print(struct parser *p)
{
	struct node *node = begin(p, N_OUTPUT);

	while (jinja_peek(p)->kind != T_TAG_END && !jinja_failed(p->j)) {
		if (node->kids.count)
			jinja_expect_op(p, ',');
		jinja_nodes_add(p->j, &node->kids, jinja_parse_expr(p, true));
	}
	return node;
}

static struct node *parse_statement(struct parser *p)
{
	static const struct {
		const char *name;
		struct node *(*parse)(struct parser *p);
	} tags[] = {
		{ "if", parse_if }, { "for", parse_for }, { "set", parse_set },
		{ "macro", parse_macro }, { "call", parse_call_block },
		{ "filter", parse_filter_block }, { "with", parse_with },
		{ "block", parse_block }, { "extends", parse_extends },
		{ "include", parse_include }, { "import", parse_import },
		{ "from", parse_from }, { "print", parse_print },
	};

	if (jinja_peek(p)->kind != T_NAME) {
		jinja_fail(p->j, "a tag begins with its name");
		return NULL;
	}
	for (size_t i = 0; i < KF_COUNT(tags); i++)
		if (jinja_at_name(p, tags[i].name))
			return tags[i].parse(p);
	jinja_fail(p->j, "unknown tag %s", jinja_peek(p)->text);
	return NULL;
}

/* Neighbouring text and prints share one node. */
static struct nodes *output_of(struct parser *p, struct nodes *out, bool *open)
{
	if (!*open)
		jinja_nodes_add(p->j, out, jinja_node(p, N_OUTPUT, p->j->line));
	*open = true;
	return &out->at[out->count - 1]->kids;
}

static void parse_print_or_data(struct parser *p, struct nodes *kids)
{
	struct token *token = jinja_take(p);
	struct node *node;

	if (token->kind == T_DATA) {
		node = jinja_node(p, N_DATA, token->line);
		node->value = jinja_str(p->j, token->text, token->len);
	} else {
		node = jinja_parse_tuple(p, true, NULL);
		if (jinja_peek(p)->kind == T_PRINT_END)
			jinja_take(p);
		else
			jinja_fail(p->j, "expected the end of the print tag");
	}
	jinja_nodes_add(p->j, kids, node);
}

static void parse_body(struct parser *p, struct nodes *out,
		       const char *const *end)
{
	bool open = false;

	if (++p->j->parse_depth > JINJA_PARSE_DEPTH)
		jinja_limit(p->j, "nested more than %u deep",
			    JINJA_PARSE_DEPTH);
	while (jinja_peek(p)->kind != T_EOF && !jinja_failed(p->j)) {
		struct node *node;

		if (jinja_peek(p)->kind != T_TAG_BEGIN) {
			parse_print_or_data(p, output_of(p, out, &open));
			continue;
		}
		open = false;
		jinja_take(p);
		if (at_end_of(p, end))
			break;
		node = parse_statement(p);
		if (jinja_failed(p->j))
			break;
		jinja_nodes_add(p->j, out, node);
		expect_tag_end(p);
	}
	p->j->parse_depth--;
}

void jinja_parse(struct jinja *j, struct template *template,
		 const char *text, size_t len)
{
	struct parser p = { .j = j, .template = template };

	p.at = jinja_lex(j, text, len);
	j->line = 1;
	if (!jinja_failed(j))
		parse_body(&p, &template->body, NULL);
	if (!jinja_failed(j))
		jinja_bind_names(j, template);
}
