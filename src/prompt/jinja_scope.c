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

/* --- frames --------------------------------------------------------------------- */

static struct symbol *own(const struct frame *frame, const char *name)
{
	for (size_t i = 0; i < frame->count; i++)
		if (!strcmp(frame->at[i].name, name))
			return &frame->at[i];
	return NULL;
}

/* Finds a name here or further out. */
static bool find(const struct frame *frame, const char *name, struct ref *ref)
{
	const struct symbol *symbol;

	for (*ref = (struct ref) { 0 }; frame; frame = frame->parent) {
		symbol = own(frame, name);
		if (symbol) {
			ref->slot = (unsigned)(symbol - frame->at);
			return true;
		}
		ref->hops++;
	}
	return false;
}

static struct symbol *define(struct jinja *j, struct frame *frame,
			     const char *name, enum load load)
{
	struct symbol *symbol = own(frame, name);

	if (!symbol) {
		if (frame->count == frame->cap) {
			size_t cap = frame->cap ? 2 * frame->cap : 8;
			struct symbol *at = jinja_alloc(j, cap * sizeof(*at));

			if (frame->count)
				memcpy(at, frame->at,
				       frame->count * sizeof(*at));
			frame->at = at;
			frame->cap = cap;
		}
		symbol = &frame->at[frame->count++];
		*symbol = (struct symbol) { .name = name };
	}
	symbol->load = load;
	return symbol;
}

static void define_parameter(struct jinja *j, struct frame *frame,
			     const char *name)
{
	define(j, frame, name, LOAD_PARAMETER)->stored = true;
}

static void load_outer(struct frame *frame, struct symbol *symbol,
		       enum load otherwise)
{
	struct ref ref;

	symbol->load = otherwise;
	if (frame->parent && find(frame->parent, symbol->name, &ref)) {
		ref.hops++;
		symbol->load = LOAD_OUTER;
		symbol->outer = ref;
	}
}

static void scan_store(struct jinja *j, struct frame *frame, const char *name)
{
	struct symbol *symbol = own(frame, name);

	if (!symbol) {
		symbol = define(j, frame, name, LOAD_NOTHING);
		load_outer(frame, symbol, LOAD_NOTHING);
	}
	symbol->stored = true;
}

static void scan_load(struct jinja *j, struct frame *frame, const char *name)
{
	struct ref ref;

	if (!find(frame, name, &ref))
		define(j, frame, name, LOAD_CONTEXT);
}

/* --- scanning a frame -------------------------------------------------------------- */

static void scan(struct jinja *j, struct frame *frame, const struct node *node);

static void scan_all(struct jinja *j, struct frame *frame,
		     const struct nodes *nodes)
{
	for (size_t i = 0; i < nodes->count; i++)
		scan(j, frame, nodes->at[i]);
}

static struct frame copy_of(struct jinja *j, const struct frame *frame)
{
	struct frame copy = *frame;

	copy.at = jinja_alloc(j, (frame->cap + 1) * sizeof(copy.at[0]));
	if (frame->count)
		memcpy(copy.at, frame->at, frame->count * sizeof(copy.at[0]));
	return copy;
}

/* What the three branches of an if did to the frame's names. */
static void merge(struct jinja *j, struct frame *frame,
		  const struct frame branch[3])
{
	struct frame before = copy_of(j, frame);

	for (size_t b = 0; b < 3; b++) {
		for (size_t i = 0; i < branch[b].count; i++) {
			const struct symbol *from = &branch[b].at[i];
			struct symbol *to = define(j, frame, from->name,
						   from->load);

			to->outer = from->outer;
			to->stored |= from->stored;
		}
	}
	for (size_t i = 0; i < frame->count; i++) {
		struct symbol *symbol = &frame->at[i];
		const struct symbol *old = own(&before, symbol->name);
		size_t stores = 0;

		for (size_t b = 0; b < 3; b++) {
			const struct symbol *in = own(&branch[b], symbol->name);

			stores += in && in->stored;
		}
		if (stores && stores < 3 && !(old && old->stored))
			load_outer(frame, symbol, LOAD_CONTEXT);
	}
}

static void scan_if(struct jinja *j, struct frame *frame,
		    const struct node *node)
{
	struct frame branch[3];

	scan(j, frame, node->a);
	for (size_t b = 0; b < 3; b++)
		branch[b] = copy_of(j, frame);
	scan_all(j, &branch[0], &node->body);
	scan_all(j, &branch[1], &node->elif);
	scan_all(j, &branch[2], &node->other);
	merge(j, frame, branch);
}

static void scan_expr(struct jinja *j, struct frame *frame,
		      const struct node *node)
{
	const struct node *operand[] = { node->a, node->b, node->c, node->star,
					 node->star2 };

	for (size_t i = 0; i < KF_COUNT(operand); i++)
		if (operand[i])
			scan(j, frame, operand[i]);
	scan_all(j, frame, &node->kids);
	scan_all(j, frame, &node->other);
	scan_all(j, frame, &node->key_value);
}

static void scan_name(struct jinja *j, struct frame *frame,
		      const struct node *node)
{
	if (node->parameter)
		define_parameter(j, frame, node->name);
	else if (node->store)
		scan_store(j, frame, node->name);
	else
		scan_load(j, frame, node->name);
}

static void scan(struct jinja *j, struct frame *frame, const struct node *node)
{
	switch (node->kind) {
	case N_NAME:
		scan_name(j, frame, node);
		break;
	case N_NSREF:
		scan_load(j, frame, node->name);
		break;
	case N_IF:
		scan_if(j, frame, node);
		break;
	case N_FOR:
		scan(j, frame, node->b);
		break;
	case N_SET:
		scan(j, frame, node->b);
		scan(j, frame, node->a);
		break;
	case N_SET_BLOCK:
	case N_CALL_BLOCK:
	case N_FILTER_BLOCK:
		scan(j, frame, node->a);
		break;
	case N_WITH:
		scan_all(j, frame, &node->other);
		break;
	case N_MACRO:
		scan_store(j, frame, node->name);
		break;
	case N_IMPORT:
		scan(j, frame, node->a);
		scan_store(j, frame, node->name);
		break;
	case N_FROM:
		scan(j, frame, node->a);
		for (size_t i = 0; i < node->key_count; i++)
			scan_store(j, frame, node->alias[i]);
		break;
	case N_BLOCK:
		break;
	default:
		scan_expr(j, frame, node);
	}
}

static void scan_target(struct jinja *j, struct frame *frame,
			const struct node *target)
{
	if (target->kind == N_NAME)
		define_parameter(j, frame, target->name);
	for (size_t i = 0; i < target->kids.count; i++)
		scan_target(j, frame, target->kids.at[i]);
}

/* --- is a special name used? ---------------------------------------------------------- */

enum use { UNUSED, USED, HIDDEN };	/* hidden: assigned before it is read */

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

/* --- binding ----------------------------------------------------------------------------- */

static void bind(struct binder *b, struct node *node);

static void bind_all(struct binder *b, const struct nodes *nodes)
{
	for (size_t i = 0; i < nodes->count && !jinja_failed(b->j); i++)
		bind(b, nodes->at[i]);
}

static struct ref ref_of(struct binder *b, const char *name)
{
	struct ref ref = { 0 };

	if (!find(b->frame, name, &ref))
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
	scan_target(b->j, body.frame, node->a);
	if (node->has_loop) {
		define_parameter(b->j, body.frame, "loop");
		node->ref.slot = (unsigned)body.frame->count - 1;
	}
	scan_all(b->j, body.frame, &node->body);
	scan_all(b->j, other.frame, &node->other);
	bind(b, node->b);
	if (node->c) {
		scan_target(b->j, test.frame, node->a);
		scan(b->j, test.frame, node->c);
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
	define_parameter(b->j, frame, name);
	return true;
}

static void bind_macro_body(struct binder *b, struct node *node)
{
	struct frame *frame = inner(b);
	struct binder in = inside(b, frame);

	scan_all(b->j, frame, &node->kids);
	scan_all(b->j, frame, &node->other);
	scan_all(b->j, frame, &node->body);
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

	scan_all(b->j, frame, &node->body);
	scan(b->j, frame, node->a);
	bind(&in, node->a);
	bind_body(b, node, frame);
}

static void bind_with(struct binder *b, struct node *node)
{
	struct frame *frame = inner(b);
	struct binder in = inside(b, frame);

	scan_all(b->j, frame, &node->kids);
	scan_all(b->j, frame, &node->body);
	bind_all(b, &node->other);
	bind_all(&in, &node->kids);
	bind_body(b, node, frame);
}

static void bind_set_block(struct binder *b, struct node *node)
{
	struct frame *frame = inner(b);
	struct binder in = inside(b, frame);

	scan_all(b->j, frame, &node->body);
	if (node->b)
		scan(b->j, frame, node->b);
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

	if ((node->kind == N_FILTER && !soft && !jinja_filter_find(node->name)) ||
	    (node->kind == N_TEST && !soft && !jinja_test_exists(node->name))) {
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
		define_parameter(j, frame, "self");
	if (used_in(&node->body, "super") == USED)
		define_parameter(j, frame, "super");
	scan_all(j, frame, &node->body);
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
		define_parameter(j, frame, "self");
	scan_all(j, frame, &template->body);
	template->frame = frame;
	bind_all(&b, &template->body);
	for (size_t i = 0; i < blocks->count && !jinja_failed(j); i++)
		bind_block(j, template, blocks->at[i]);
}
