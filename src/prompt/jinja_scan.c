/* The names of one frame, and how each gets its first value; jinja_scope.c
 * has the rules. */
#include "prompt/jinja_internal.h"

/* --- frames ---------------------------------------------------------- */

struct symbol *jinja_symbol(const struct frame *frame, const char *name)
{
	for (size_t i = 0; i < frame->count; i++)
		if (!strcmp(frame->at[i].name, name))
			return &frame->at[i];
	return NULL;
}

/* Finds a name here or further out. */
bool jinja_symbol_find(const struct frame *frame, const char *name,
		       struct ref *ref)
{
	const struct symbol *symbol;

	for (*ref = (struct ref) { 0 }; frame; frame = frame->parent) {
		symbol = jinja_symbol(frame, name);
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
	struct symbol *symbol = jinja_symbol(frame, name);

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

void jinja_symbol_parameter(struct jinja *j, struct frame *frame,
			     const char *name)
{
	define(j, frame, name, LOAD_PARAMETER)->stored = true;
}

static void load_outer(struct frame *frame, struct symbol *symbol,
		       enum load otherwise)
{
	struct ref ref;

	symbol->load = otherwise;
	if (frame->parent &&
	    jinja_symbol_find(frame->parent, symbol->name, &ref)) {
		ref.hops++;
		symbol->load = LOAD_OUTER;
		symbol->outer = ref;
	}
}

static void scan_store(struct jinja *j, struct frame *frame, const char *name)
{
	struct symbol *symbol = jinja_symbol(frame, name);

	if (!symbol) {
		symbol = define(j, frame, name, LOAD_NOTHING);
		load_outer(frame, symbol, LOAD_NOTHING);
	}
	symbol->stored = true;
}

static void scan_load(struct jinja *j, struct frame *frame, const char *name)
{
	struct ref ref;

	if (!jinja_symbol_find(frame, name, &ref))
		define(j, frame, name, LOAD_CONTEXT);
}

/* --- scanning a frame ------------------------------------------------ */

void jinja_scan_all(struct jinja *j, struct frame *frame,
		     const struct nodes *nodes)
{
	for (size_t i = 0; i < nodes->count; i++)
		jinja_scan(j, frame, nodes->at[i]);
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
		const struct symbol *old = jinja_symbol(&before, symbol->name);
		size_t stores = 0;

		for (size_t b = 0; b < 3; b++) {
			const struct symbol *in = jinja_symbol(&branch[b],
							symbol->name);

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

	jinja_scan(j, frame, node->a);
	for (size_t b = 0; b < 3; b++)
		branch[b] = copy_of(j, frame);
	jinja_scan_all(j, &branch[0], &node->body);
	jinja_scan_all(j, &branch[1], &node->elif);
	jinja_scan_all(j, &branch[2], &node->other);
	merge(j, frame, branch);
}

static void scan_expr(struct jinja *j, struct frame *frame,
		      const struct node *node)
{
	const struct node *operand[] = { node->a, node->b, node->c, node->star,
					 node->star2 };

	for (size_t i = 0; i < KF_COUNT(operand); i++)
		if (operand[i])
			jinja_scan(j, frame, operand[i]);
	jinja_scan_all(j, frame, &node->kids);
	jinja_scan_all(j, frame, &node->other);
	jinja_scan_all(j, frame, &node->key_value);
}

static void scan_name(struct jinja *j, struct frame *frame,
		      const struct node *node)
{
	if (node->parameter)
		jinja_symbol_parameter(j, frame, node->name);
	else if (node->store)
		scan_store(j, frame, node->name);
	else
		scan_load(j, frame, node->name);
}

void jinja_scan(struct jinja *j, struct frame *frame, const struct node *node)
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
		jinja_scan(j, frame, node->b);
		break;
	case N_SET:
		jinja_scan(j, frame, node->b);
		jinja_scan(j, frame, node->a);
		break;
	case N_SET_BLOCK:
	case N_CALL_BLOCK:
	case N_FILTER_BLOCK:
		jinja_scan(j, frame, node->a);
		break;
	case N_WITH:
		jinja_scan_all(j, frame, &node->other);
		break;
	case N_MACRO:
		scan_store(j, frame, node->name);
		break;
	case N_IMPORT:
		jinja_scan(j, frame, node->a);
		scan_store(j, frame, node->name);
		break;
	case N_FROM:
		jinja_scan(j, frame, node->a);
		for (size_t i = 0; i < node->key_count; i++)
			scan_store(j, frame, node->alias[i]);
		break;
	case N_BLOCK:
		break;
	default:
		scan_expr(j, frame, node);
	}
}

void jinja_scan_target(struct jinja *j, struct frame *frame,
			const struct node *target)
{
	if (target->kind == N_NAME)
		jinja_symbol_parameter(j, frame, target->name);
	for (size_t i = 0; i < target->kids.count; i++)
		jinja_scan_target(j, frame, target->kids.at[i]);
}
