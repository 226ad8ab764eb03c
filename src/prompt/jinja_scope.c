/*
 * Which variable does a name mean? Jinja2 decides before a template runs, and
 * so do we, by its rules (jinja2/idtracking.py):
 *
 * A frame is what has variables of its own: a template, a block, a macro, the
 * body of a loop, with, a set block ... An if has none. First a frame is
 * scanned as a whole, without the frames inside of it. A name that is read
 * before it is assigned comes from the context; one that is assigned first is
 * unset until then, or starts with the value of the enclosing frame's variable
 * of that name. Assigned in some branches of an if only, it also starts with
 * the outer value. Then statements are bound one by one, each new frame being
 * scanned when it is met.
 *
 * Here too: the checks that Jinja2 makes when it compiles a template.
 */
#include "prompt/jinja_internal.h"

struct binder {
	struct jinja *j;
	struct template *template;
	struct frame *frame;
	bool toplevel;	/* assignments reach the context */
	bool soft;	/* inside an if: an unknown filter may stay unused */
};

/* --- is a special name used? ----------------------------------------- */

/* Hidden: assigned before it is read. */
enum use { UNUSED, USED, HIDDEN };

static enum use used(const struct node *node, const char *name);

static enum use used_in(const struct nodes *nodes, const char *name)
{
	enum use use = UNUSED;

	for (size_t i = 0; i < nodes->count && use == UNUSED; i++)
		use = used(nodes->at[i], name);
	return use;
}

/* In the order in which Jinja2 visits the parts of each kind of node. */
static enum use used(const struct node *node, const char *name)
{
	bool set = node->kind == N_SET;
	bool body_first = node->kind == N_IF || node->kind == N_FOR;
	const struct node *part[] = {
		set ? node->b : node->a, set ? node->a : node->b, node->star,
		node->star2,
	};
	const struct nodes *list[] = {
		&node->kids, &node->key_value,
		body_first ? &node->body : &node->other,
		body_first ? &node->elif : &node->body,
		body_first ? &node->other : &node->elif,
	};
	enum use use = UNUSED;

	if (node->kind == N_BLOCK)
		return UNUSED;
	if (node->kind == N_NAME && !strcmp(node->name, name))
		return node->store || node->parameter ? HIDDEN : USED;
	for (size_t i = 0; i < KF_COUNT(part) && use == UNUSED; i++)
		if (part[i])
			use = used(part[i], name);
	for (size_t i = 0; i < KF_COUNT(list) && use == UNUSED; i++)
		use = used_in(list[i], name);
	return use == UNUSED && node->c ? used(node->c, name) : use;
}

/* --- binding --------------------------------------------------------- */

static void bind(struct binder *b, struct node *node);

static void bind_all(struct binder *b, const struct nodes *nodes)
{
	for (size_t i = 0; i < nodes->count && !jinja_failed(b->j); i++)
		bind(b, nodes->at[i]);
}

static struct ref ref_of(struct binder *b, const char *name)
{
	struct ref ref = { 0 };

	if (!jinja_symbol_find(b->frame, name, &ref))
		jinja_fail(b->j, "%s is not known here", name);
	return ref;
}

static struct frame *inner(struct binder *b)
{
	struct frame *frame = jinja_alloc(b->j, sizeof(*frame));

	frame->parent = b->frame;
	return frame;
}

static struct binder inside(const struct binder *b, struct frame *frame)
{
	return (struct binder) { b->j, b->template, frame, false, false };
}

static void bind_body(struct binder *b, struct node *node, struct frame *frame)
{
	struct binder in = inside(b, frame);

	node->frame = frame;
	bind_all(&in, &node->body);
}

static bool has_scoped_block(const struct nodes *body)
{
	for (size_t i = 0; i < body->count; i++) {
		const struct node *node = body->at[i];

		if ((node->kind == N_BLOCK && node->flag) ||
		    has_scoped_block(&node->body) ||
		    has_scoped_block(&node->other) ||
		    has_scoped_block(&node->elif))
			return true;
	}
	return false;
}

/* Is the name assigned anywhere inside? */
static const struct node *assigned(const struct node *node, const char *name)
{
	const struct node *part[] = { node->a, node->b, node->c };
	const struct nodes *list[] = { &node->kids, &node->other, &node->body,
				       &node->elif, &node->key_value };
	const struct node *hit = NULL;

	if (node->kind == N_NAME && node->store && !strcmp(node->name, name))
		return node;
	for (size_t i = 0; i < KF_COUNT(part) && !hit; i++)
		if (part[i])
			hit = assigned(part[i], name);
	for (size_t i = 0; i < KF_COUNT(list); i++)
		for (size_t k = 0; k < list[i]->count && !hit; k++)
			hit = assigned(list[i]->at[k], name);
	return hit;
}

static void bind_for(struct binder *b, struct node *node)
{
	struct binder body = inside(b, inner(b)), test = inside(b, inner(b));
	struct binder other = inside(b, inner(b));
	const struct node *bad = assigned(node, "loop");

	if (bad) {
		b->j->line = bad->line;
		jinja_fail(b->j, "loop cannot be assigned inside of a for");
		return;
	}
	node->has_loop = node->flag || has_scoped_block(&node->body) ||
			 has_scoped_block(&node->other) ||
			 used_in(&node->body, "loop") == USED;
	/* The target first: its slots are the same in body and condition. */
	jinja_scan_target(b->j, body.frame, node->a);
	if (node->has_loop) {
		jinja_symbol_parameter(b->j, body.frame, "loop");
		node->ref.slot = (unsigned)body.frame->count - 1;
	}
	jinja_scan_all(b->j, body.frame, &node->body);
	jinja_scan_all(b->j, other.frame, &node->other);
	bind(b, node->b);
	if (node->c) {
		jinja_scan_target(b->j, test.frame, node->a);
		jinja_scan(b->j, test.frame, node->c);
		bind(&test, node->c);
	}
	bind(&body, node->a);
	bind_all(&body, &node->body);
	bind_all(&other, &node->other);
	node->frame = body.frame;
	node->frame_test = test.frame;
	node->frame_else = other.frame;
}

/* Python finds the default of a parameter by counting from the end, also past
 * the begin: an index of -n is in range for n defaults only. */
static bool has_default(const struct node *node, size_t parameter)
{
	return node->kids.count - parameter <= node->other.count;
}

static bool special(struct binder *b, struct node *node, struct frame *frame,
		    const char *name)
{
	if (used_in(&node->body, name) != USED)
		return false;
	for (size_t i = 0; i < node->kids.count; i++) {
		if (strcmp(node->kids.at[i]->name, name) != 0)
			continue;
		if (strcmp(name, "caller") != 0)
			return false;
		if (!has_default(node, i))
			jinja_fail(b->j, "a parameter called caller needs a "
				   "default");
		return true;
	}
	jinja_symbol_parameter(b->j, frame, name);
	return true;
}

static void bind_macro_body(struct binder *b, struct node *node)
{
	struct frame *frame = inner(b);
	struct binder in = inside(b, frame);

	jinja_scan_all(b->j, frame, &node->kids);
	jinja_scan_all(b->j, frame, &node->other);
	jinja_scan_all(b->j, frame, &node->body);
	node->has_caller = special(b, node, frame, "caller");
	node->has_kwargs = special(b, node, frame, "kwargs");
	node->has_varargs = special(b, node, frame, "varargs");
	bind_all(&in, &node->kids);
	bind_all(&in, &node->other);
	bind_body(b, node, frame);
}

static void bind_filter_block(struct binder *b, struct node *node)
{
	struct frame *frame = inner(b);
	struct binder in = inside(b, frame);

	jinja_scan_all(b->j, frame, &node->body);
	jinja_scan(b->j, frame, node->a);
	bind(&in, node->a);
	bind_body(b, node, frame);
}

static void bind_with(struct binder *b, struct node *node)
{
	struct frame *frame = inner(b);
	struct binder in = inside(b, frame);

	jinja_scan_all(b->j, frame, &node->kids);
	jinja_scan_all(b->j, frame, &node->body);
	bind_all(b, &node->other);
	bind_all(&in, &node->kids);
	bind_body(b, node, frame);
}

static void bind_set_block(struct binder *b, struct node *node)
{
	struct frame *frame = inner(b);
	struct binder in = inside(b, frame);

	jinja_scan_all(b->j, frame, &node->body);
	if (node->b)
		jinja_scan(b->j, frame, node->b);
	bind(b, node->a);
	if (node->b)
		bind(&in, node->b);
	bind_body(b, node, frame);
}

static void bind_if(struct binder *b, struct node *node)
{
	bool soft = b->soft;

	b->soft = true;
	bind(b, node->a);
	bind_all(b, &node->body);
	bind_all(b, &node->elif);
	bind_all(b, &node->other);
	b->soft = soft;
}

static void bind_from(struct binder *b, struct node *node)
{
	bind(b, node->a);
	node->refs = jinja_alloc(b->j, node->key_count * sizeof(struct ref));
	for (size_t i = 0; i < node->key_count; i++)
		node->refs[i] = ref_of(b, node->alias[i]);
}

static void bind_expr(struct binder *b, struct node *node)
{
	struct node *operand[] = { node->a, node->b, node->c, node->star,
				   node->star2 };
	bool soft = b->soft;

	if (!soft &&
	    ((node->kind == N_FILTER && !jinja_filter_find(node->name)) ||
	     (node->kind == N_TEST && !jinja_test_exists(node->name)))) {
		jinja_fail(b->j, "no %s is called %s", node->kind == N_TEST ?
			   "test" : "filter", node->name);
		return;
	}
	b->soft = soft || node->kind == N_COND;
	for (size_t i = 0; i < KF_COUNT(operand); i++)
		if (operand[i])
			bind(b, operand[i]);
	bind_all(b, &node->kids);
	bind_all(b, &node->other);
	bind_all(b, &node->key_value);
	b->soft = soft;
}

static void bind(struct binder *b, struct node *node)
{
	if (jinja_failed(b->j))
		return;
	b->j->line = node->line;
	node->toplevel = b->toplevel;
	switch (node->kind) {
	case N_NAME:
	case N_NSREF:
		node->ref = ref_of(b, node->name);
		break;
	case N_FOR:
		bind_for(b, node);
		break;
	case N_IF:
		bind_if(b, node);
		break;
	case N_MACRO:
		node->ref = ref_of(b, node->name);
		bind_macro_body(b, node);
		break;
	case N_CALL_BLOCK:
		bind_macro_body(b, node);
		bind(b, node->a);
		break;
	case N_FILTER_BLOCK:
		bind_filter_block(b, node);
		break;
	case N_WITH:
		bind_with(b, node);
		break;
	case N_SET_BLOCK:
		bind_set_block(b, node);
		break;
	case N_BLOCK:
		break;
	case N_EXTENDS:
		bind(b, node->a);
		if (!b->toplevel)
			jinja_fail(b->j, "extends inside of another frame");
		break;
	case N_IMPORT:
		bind(b, node->a);
		node->ref = ref_of(b, node->name);
		break;
	case N_FROM:
		bind_from(b, node);
		break;
	default:
		bind_expr(b, node);
	}
}

static void bind_block(struct jinja *j, struct template *template,
		       struct node *node)
{
	struct frame *frame = jinja_alloc(j, sizeof(*frame));
	struct binder b = { j, template, frame, false, false };

	if (used_in(&node->body, "self") == USED)
		jinja_symbol_parameter(j, frame, "self");
	if (used_in(&node->body, "super") == USED)
		jinja_symbol_parameter(j, frame, "super");
	jinja_scan_all(j, frame, &node->body);
	node->frame = frame;
	bind_all(&b, &node->body);
}

void jinja_bind_names(struct jinja *j, struct template *template)
{
	struct frame *frame = jinja_alloc(j, sizeof(*frame));
	struct binder b = { j, template, frame, true, false };
	const struct nodes *blocks = &template->blocks;

	for (size_t i = 0; i < blocks->count; i++)
		for (size_t k = 0; k < i; k++)
			if (!strcmp(blocks->at[i]->name, blocks->at[k]->name)) {
				j->line = blocks->at[i]->line;
				jinja_fail(j, "block %s is defined twice",
					   blocks->at[i]->name);
			}
	if (used_in(&template->body, "self") == USED)
		jinja_symbol_parameter(j, frame, "self");
	jinja_scan_all(j, frame, &template->body);
	template->frame = frame;
	bind_all(&b, &template->body);
	for (size_t i = 0; i < blocks->count && !jinja_failed(j); i++)
		bind_block(j, template, blocks->at[i]);
}
