/* Statements. */
#include "prompt/jinja_internal.h"

#include <assert.h>

/* --- scopes ---------------------------------------------------------- */

/* Gives every variable its first value. */
void jinja_scope_reset(struct jinja *j, const struct context *context,
		       struct scope *scope)
{
	const struct frame *frame = scope->frame;

	for (size_t i = 0; i < frame->count; i++) {
		const struct symbol *symbol = &frame->at[i];
		struct scope *outer = scope;

		scope->slot[i] = NULL;
		if (symbol->load == LOAD_CONTEXT) {
			scope->slot[i] = jinja_resolve(j, context,
						       symbol->name);
		} else if (symbol->load == LOAD_OUTER) {
			for (unsigned h = 0; h < symbol->outer.hops; h++) {
				assert(outer);
				outer = outer->parent;
			}
			assert(outer);
			scope->slot[i] = outer->slot[symbol->outer.slot];
		}
	}
}

struct scope *jinja_scope_enter(struct jinja *j, struct run *run,
				const struct frame *frame)
{
	struct scope *scope = jinja_alloc(j, sizeof(*scope));

	scope->parent = frame->parent ? run->scope : NULL;
	scope->frame = frame;
	scope->slot = jinja_alloc(j, (frame->count + 1) *
				  sizeof(scope->slot[0]));
	jinja_scope_reset(j, run->context, scope);
	return scope;
}

/* --- assignment ------------------------------------------------------ */

static void store(struct jinja *j, struct run *run, const char *name,
		  const struct ref *ref, bool toplevel, struct value *value)
{
	struct scope *scope = run->scope;

	for (unsigned i = 0; i < ref->hops; i++)
		scope = scope->parent;
	scope->slot[ref->slot] = value;
	if (!toplevel)
		return;
	jinja_dict_put(j, &run->context->vars, name, value);
	if (name[0] != '_')
		jinja_dict_put(j, &run->context->exported, name, &j->none);
}

static void assign_tuple(struct jinja *j, struct run *run,
			 const struct node *target, struct value *value)
{
	struct value *list = jinja_list_of(j, value);
	size_t count = target->kids.count;

	if (jinja_failed(j))
		return;
	if (list->u.list.count != count) {
		jinja_fail(j, "%zu values for %zu names", list->u.list.count,
			   count);
		return;
	}
	for (size_t i = 0; i < count && !jinja_failed(j); i++)
		jinja_assign(j, run, target->kids.at[i], list->u.list.at[i]);
}

static void assign_attribute(struct jinja *j, struct run *run,
			     const struct node *target, struct value *value)
{
	struct scope *scope = run->scope;
	struct value *owner;

	for (unsigned i = 0; i < target->ref.hops; i++) {
		assert(scope);
		scope = scope->parent;
	}
	assert(scope);
	owner = scope->slot[target->ref.slot];
	if (!owner || owner->kind != V_NAMESPACE)
		jinja_fail(j, "%s is not a namespace: its attributes cannot be "
			   "set", target->name);
	else
		jinja_dict_put(j, &owner->u.dict, target->attr, value);
}

void jinja_assign(struct jinja *j, struct run *run, const struct node *target,
		  struct value *value)
{
	if (target->kind == N_TUPLE)
		assign_tuple(j, run, target, value);
	else if (target->kind == N_NSREF)
		assign_attribute(j, run, target, value);
	else
		store(j, run, target->name, &target->ref, target->toplevel,
		      value);
}

/* --- statements ------------------------------------------------------ */

static void write_value(struct jinja *j, struct run *run, struct value *value)
{
	if (jinja_failed(j))
		return;
	jinja_put_str(j, run->out, value);
	if (run->out->len >= run->out->max)
		jinja_limit(j, "the output is larger than %zu bytes",
			    run->out->max);
}

static void exec_output(struct jinja *j, struct run *run,
			const struct node *node)
{
	if (run->parent && *run->parent)
		return;
	for (size_t i = 0; i < node->kids.count && !jinja_failed(j); i++)
		write_value(j, run, jinja_eval(j, run, node->kids.at[i]));
}

static void exec_if(struct jinja *j, struct run *run, const struct node *node)
{
	bool yes = jinja_truth(j, jinja_eval(j, run, node->a));

	if (yes && !jinja_failed(j)) {
		jinja_exec(j, run, &node->body);
		return;
	}
	for (size_t i = 0; i < node->elif.count && !jinja_failed(j); i++) {
		const struct node *elif = node->elif.at[i];

		yes = jinja_truth(j, jinja_eval(j, run, elif->a));
		if (yes && !jinja_failed(j)) {
			jinja_exec(j, run, &elif->body);
			return;
		}
	}
	if (!jinja_failed(j))
		jinja_exec(j, run, &node->other);
}

static void exec_for(struct jinja *j, struct run *run, const struct node *node)
{
	struct value *over = jinja_eval(j, run, node->b);

	if (!jinja_failed(j))
		jinja_exec_for(j, run, node, over, 0);
}

static void exec_set(struct jinja *j, struct run *run, const struct node *node)
{
	struct value *value = jinja_eval(j, run, node->b);

	j->line = node->line;
	if (!jinja_failed(j))
		jinja_assign(j, run, node->a, value);
}

/* Runs a body in a frame of its own and returns its text. */
static struct value *capture(struct jinja *j, struct run in,
			     const struct nodes *body)
{
	struct kf_buf out = { .max = JINJA_TEXT_BYTES };

	in.out = &out;
	jinja_exec(j, &in, body);
	return jinja_str_take(j, &out);
}

static void exec_set_block(struct jinja *j, struct run *run,
			   const struct node *node)
{
	struct run in = *run;
	struct value *text;

	in.parent = NULL;
	in.scope = jinja_scope_enter(j, run, node->frame);
	text = capture(j, in, &node->body);
	if (node->b && !jinja_failed(j))
		text = jinja_apply_filter(j, &in, node->b, text);
	if (!jinja_failed(j))
		jinja_assign(j, run, node->a, text);
}

static void exec_filter_block(struct jinja *j, struct run *run,
			      const struct node *node)
{
	struct run in = *run;
	struct value *text;

	in.scope = jinja_scope_enter(j, run, node->frame);
	text = capture(j, in, &node->body);
	if (!jinja_failed(j))
		text = jinja_apply_filter(j, &in, node->a, text);
	if (!jinja_failed(j) && text->kind != V_STR)
		jinja_fail(j, "a filter block wants text, its filter gives a "
			   "%s", jinja_kind_name(text));
	write_value(j, run, text);
}

static void exec_with(struct jinja *j, struct run *run, const struct node *node)
{
	struct run in = *run;

	in.scope = jinja_scope_enter(j, run, node->frame);
	for (size_t i = 0; i < node->kids.count && !jinja_failed(j); i++) {
		struct value *value = jinja_eval(j, run, node->other.at[i]);

		if (!jinja_failed(j))
			jinja_assign(j, &in, node->kids.at[i], value);
	}
	if (!jinja_failed(j))
		jinja_exec(j, &in, &node->body);
}

static struct value *make_macro(struct jinja *j, struct run *run,
				const struct node *node)
{
	struct value *v = jinja_new(j, V_MACRO);

	v->u.macro = jinja_alloc(j, sizeof(*v->u.macro));
	v->u.macro->node = node;
	v->u.macro->name = node->kind == N_MACRO ? node->name : NULL;
	v->u.macro->scope = run->scope;
	v->u.macro->context = run->context;
	v->u.macro->template = run->template;
	return v;
}

static void exec_macro(struct jinja *j, struct run *run,
		       const struct node *node)
{
	store(j, run, node->name, &node->ref, node->toplevel,
	      make_macro(j, run, node));
}

static void exec_call_block(struct jinja *j, struct run *run,
			    const struct node *node)
{
	const struct node *call = node->a;
	struct value *caller = make_macro(j, run, node), *callee;
	struct args args;

	callee = jinja_eval(j, run, call->a);
	if (jinja_failed(j))
		return;
	jinja_eval_args(j, run, call, &args);
	for (size_t i = 0; i < args.key_count; i++)
		if (!strcmp(args.key[i], "caller"))
			jinja_fail(j, "caller is given twice");
	if (jinja_failed(j))
		return;
	args.key[args.key_count] = "caller";
	args.value[args.key_count++] = caller;
	j->line = call->line;
	write_value(j, run, jinja_call(j, callee, &args));
}

static void exec_one(struct jinja *j, struct run *run, const struct node *node)
{
	static void (*const exec[])(struct jinja *j, struct run *run,
				    const struct node *node) = {
		[N_OUTPUT] = exec_output, [N_FOR] = exec_for, [N_IF] = exec_if,
		[N_MACRO] = exec_macro, [N_CALL_BLOCK] = exec_call_block,
		[N_FILTER_BLOCK] = exec_filter_block, [N_WITH] = exec_with,
		[N_SET] = exec_set, [N_SET_BLOCK] = exec_set_block,
		[N_BLOCK] = jinja_exec_block, [N_EXTENDS] = jinja_exec_extends,
		[N_INCLUDE] = jinja_exec_include,
		[N_IMPORT] = jinja_exec_import, [N_FROM] = jinja_exec_import,
	};

	j->line = node->line;
	exec[node->kind](j, run, node);
}

void jinja_exec(struct jinja *j, struct run *run, const struct nodes *body)
{
	if (jinja_enter(j))
		for (size_t i = 0; i < body->count && !jinja_failed(j); i++)
			exec_one(j, run, body->at[i]);
	jinja_leave(j);
}
