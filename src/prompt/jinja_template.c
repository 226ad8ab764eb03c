/* Whole templates: loading, contexts, include, import, extends, blocks. */
#include "prompt/jinja_internal.h"

/* --- loading --------------------------------------------------------- */

static void load(struct jinja *j, struct template *template)
{
	const char *file = j->file;
	unsigned line = j->line, parse_depth = j->parse_depth;
	char *text = j->loader->load(j->loader->arg, template->name);
	size_t len = text ? strlen(text) : 0;

	template->missing = !text;
	if (!text)
		return;
	j->file = template->name;
	j->line = 1;
	j->parse_depth = 0;
	if (len > JINJA_SOURCE_BYTES)
		jinja_limit(j, "the template is larger than %u MiB",
			    JINJA_SOURCE_BYTES >> 20);
	else
		jinja_parse(j, template, text, len);
	free(text);
	j->parse_depth = parse_depth;
	if (jinja_failed(j))
		return;
	j->file = file;
	j->line = line;
}

struct template *jinja_template(struct jinja *j, const char *name)
{
	struct template *template = j->templates;

	while (template && strcmp(template->name, name) != 0)
		template = template->next;
	if (!template) {
		template = jinja_alloc(j, sizeof(*template));
		template->name = jinja_copy(j, name, strlen(name));
		template->next = j->templates;
		j->templates = template;
		load(j, template);
	}
	return template->missing ? NULL : template;
}

static struct template *no_template(struct jinja *j, const struct value *name)
{
	if (name->kind == V_UNDEFINED)
		jinja_undefined_used(j, name);
	else if (name->kind == V_STR)
		jinja_fail(j, "there is no template called %s", name->u.s.text);
	else
		jinja_fail(j, "a template's name is a string, not a %s",
			   jinja_kind_name(name));
	return NULL;
}

struct template *jinja_template_must(struct jinja *j, struct value *name)
{
	struct template *template = NULL;

	if (name->kind == V_STR)
		template = jinja_template(j, name->u.s.text);
	return template ? template : no_template(j, name);
}

/* --- contexts -------------------------------------------------------- */

struct value *jinja_resolve(struct jinja *j, const struct context *context,
			    const char *name)
{
	struct value *v = jinja_dict_find(&context->vars, name);

	if (!v && context->outer)
		v = jinja_dict_find(context->outer, name);
	return v ? v : jinja_global(j, name);
}

struct block_list *jinja_blocks(const struct context *context, const char *name)
{
	struct block_list *list = context->blocks;

	while (list && strcmp(list->name, name) != 0)
		list = list->next;
	return list;
}

void jinja_blocks_add(struct jinja *j, struct context *context,
		      struct template *template)
{
	for (size_t i = 0; i < template->blocks.count; i++) {
		struct node *node = template->blocks.at[i];
		struct block_list *list = jinja_blocks(context, node->name);

		if (!list) {
			list = jinja_alloc(j, sizeof(*list));
			list->name = node->name;
			list->next = context->blocks;
			context->blocks = list;
		}
		if (list->count == KF_COUNT(list->at)) {
			jinja_limit(j, "more than %u parents of a template",
				    JINJA_TEMPLATE_DEPTH);
			return;
		}
		list->at[list->count].node = node;
		list->at[list->count++].template = template;
	}
}

struct context *jinja_context_new(struct jinja *j, struct template *template,
				  const struct dict *outer)
{
	struct context *context = jinja_alloc(j, sizeof(*context));

	context->template = template;
	context->outer = outer;
	jinja_blocks_add(j, context, template);
	return context;
}

static void copy_dict(struct jinja *j, struct dict *to, const struct dict *from)
{
	for (size_t i = 0; i < from->count && !jinja_failed(j); i++)
		jinja_dict_set(j, to, from->at[i].key, from->at[i].value);
}

/* The outermost frame first, so that inner names win. */
static void add_locals(struct jinja *j, struct dict *to,
		       const struct scope *scope)
{
	if (!scope)
		return;
	add_locals(j, to, scope->parent);
	for (size_t i = 0; i < scope->frame->count; i++)
		if (scope->frame->at[i].stored && scope->slot[i])
			jinja_dict_put(j, to, scope->frame->at[i].name,
				       scope->slot[i]);
}

struct dict *jinja_context_all(struct jinja *j, const struct context *context,
			       const struct scope *locals)
{
	struct dict *all = jinja_alloc(j, sizeof(*all));

	if (context->outer)
		copy_dict(j, all, context->outer);
	copy_dict(j, all, &context->vars);
	add_locals(j, all, locals);
	return all;
}

/* --- rendering one --------------------------------------------------- */

void jinja_render_root(struct jinja *j, struct template *template,
		       struct context *context, struct kf_buf *out)
{
	struct template *parent = NULL;
	struct run run = {
		.template = template,
		.context = context,
		.out = out,
		.parent = template->has_extends ? &parent : NULL,
	};
	const char *file = j->file;
	unsigned line = j->line;

	if (++j->template_depth > JINJA_TEMPLATE_DEPTH)
		jinja_limit(j, "templates nested more than %u deep",
			    JINJA_TEMPLATE_DEPTH);
	if (!jinja_failed(j)) {
		j->file = template->name;
		run.scope = jinja_scope_enter(j, &run, template->frame);
		for (size_t i = 0; i < template->frame->count; i++) {
			struct value *self;

			if (strcmp(template->frame->at[i].name, "self") != 0 ||
			    template->frame->at[i].load != LOAD_PARAMETER)
				continue;
			self = jinja_new(j, V_SELF);
			self->u.self = context;
			run.scope->slot[i] = self;
		}
		jinja_exec(j, &run, &template->body);
	}
	if (parent && !jinja_failed(j))
		jinja_render_root(j, parent, context, out);
	j->template_depth--;
	if (jinja_failed(j))
		return;
	j->file = file;
	j->line = line;
}

/* --- include and import ---------------------------------------------- */

/* What an imported template exports. Without context it is made once. */
static struct value *module_of(struct jinja *j, struct run *run,
			       struct template *template, bool with_context)
{
	struct kf_buf out = { .max = JINJA_TEXT_BYTES };
	const struct dict *outer = NULL;
	struct context *context;
	struct module *module;
	struct value *v;

	if (!with_context && template->module)
		return template->module;
	if (with_context)
		outer = jinja_context_all(j, run->context, run->scope);
	context = jinja_context_new(j, template, outer);
	if (!jinja_failed(j))
		jinja_render_root(j, template, context, &out);
	module = jinja_alloc(j, sizeof(*module));
	module->name = template->name;
	module->body = jinja_str_take(j, &out);
	for (size_t i = 0; i < context->exported.count; i++) {
		struct value *key = context->exported.at[i].key;

		if (context->exported.at[i].value->kind == V_NONE)
			jinja_dict_set(j, &module->exported, key,
				       jinja_dict_get(j, &context->vars, key));
	}
	v = jinja_new(j, V_MODULE);
	v->u.module = module;
	if (!with_context)
		template->module = v;
	return v;
}

static struct template *select_template(struct jinja *j,
					const struct node *node,
					struct value *name)
{
	struct template *template = NULL;
	struct value *list;

	if (name->kind == V_STR) {
		template = jinja_template(j, name->u.s.text);
	} else if (name->kind == V_UNDEFINED) {
		jinja_undefined_used(j, name);
	} else {
		list = jinja_list_of(j, name);
		for (size_t i = 0; !template && !jinja_failed(j) &&
		     i < list->u.list.count; i++) {
			struct value *each = list->u.list.at[i];

			if (each->kind == V_STR)
				template = jinja_template(j, each->u.s.text);
			else if (each->kind != V_UNDEFINED)
				no_template(j, each);
		}
	}
	if (!template && !node->flag && !jinja_failed(j)) {
		if (name->kind == V_STR)
			no_template(j, name);
		else
			jinja_fail(j, "none of these templates exists");
	}
	return template;
}

void jinja_exec_include(struct jinja *j, struct run *run,
			const struct node *node)
{
	struct value *name = jinja_eval(j, run, node->a);
	struct template *template;

	if (jinja_failed(j))
		return;
	template = select_template(j, node, name);
	if (!template || jinja_failed(j))
		return;
	if (node->with_context) {
		struct dict *all = jinja_context_all(j, run->context,
						     run->scope);
		struct context *context = jinja_context_new(j, template, all);

		if (!jinja_failed(j))
			jinja_render_root(j, template, context, run->out);
	} else {
		struct value *module = module_of(j, run, template, false);

		if (!jinja_failed(j))
			jinja_put_str(j, run->out, module);
	}
	if (run->out->len >= run->out->max)
		jinja_limit(j, "the output is larger than %zu bytes",
			    run->out->max);
}

/* What import defines is seen by the template, but not exported by it. */
static void define(struct jinja *j, struct run *run, const struct node *node,
		   const char *name, const struct ref *ref, struct value *v)
{
	struct scope *scope = run->scope;

	for (unsigned i = 0; i < ref->hops; i++)
		scope = scope->parent;
	scope->slot[ref->slot] = v;
	if (!node->toplevel)
		return;
	jinja_dict_put(j, &run->context->vars, name, v);
	if (jinja_dict_find(&run->context->exported, name))
		jinja_dict_put(j, &run->context->exported, name, &j->no);
}

void jinja_exec_import(struct jinja *j, struct run *run,
		       const struct node *node)
{
	struct value *name = jinja_eval(j, run, node->a), *module, *v;
	struct template *template;

	template = jinja_failed(j) ? NULL : jinja_template_must(j, name);
	if (!template || jinja_failed(j))
		return;
	module = module_of(j, run, template, node->with_context);
	if (jinja_failed(j))
		return;
	if (node->kind == N_IMPORT) {
		define(j, run, node, node->name, &node->ref, module);
		return;
	}
	for (size_t i = 0; i < node->key_count; i++) {
		v = jinja_dict_find(&module->u.module->exported, node->key[i]);
		if (!v)
			v = jinja_undefined(j, "template %s (imported on line "
					    "%u) does not export %s",
					    template->name, node->line,
					    node->key[i]);
		define(j, run, node, node->alias[i], &node->refs[i], v);
	}
}

/* --- inheritance ----------------------------------------------------- */

void jinja_exec_extends(struct jinja *j, struct run *run,
			const struct node *node)
{
	struct value *name;

	if (*run->parent) {
		jinja_fail(j, "the template extends twice");
		return;
	}
	name = jinja_eval(j, run, node->a);
	if (jinja_failed(j))
		return;
	*run->parent = jinja_template_must(j, name);
	if (*run->parent)
		jinja_blocks_add(j, run->context, *run->parent);
}

static void set_special(struct scope *scope, const char *name,
			struct value *value)
{
	const struct frame *frame = scope->frame;

	for (size_t i = 0; i < frame->count; i++)
		if (frame->at[i].load == LOAD_PARAMETER &&
		    !strcmp(frame->at[i].name, name))
			scope->slot[i] = value;
}

static struct value *super_value(struct jinja *j, const char *name,
				 struct context *context, size_t depth,
				 size_t count)
{
	struct value *v;

	if (depth + 1 >= count)
		return jinja_undefined(j, "there is no parent of block %s",
				       name);
	v = jinja_new(j, V_BLOCK);
	v->u.block = jinja_alloc(j, sizeof(*v->u.block));
	v->u.block->name = name;
	v->u.block->context = context;
	v->u.block->depth = depth + 1;
	return v;
}

void jinja_run_block(struct jinja *j, const struct block_list *list,
		     size_t depth, struct context *context, struct kf_buf *out)
{
	const struct node *node = list->at[depth].node;
	struct template *template = list->at[depth].template;
	struct run run = { .template = template, .context = context,
			   .out = out };
	const char *file = j->file;
	unsigned line = j->line;
	struct value *self = jinja_new(j, V_SELF);

	self->u.self = context;
	j->file = template->name;
	run.scope = jinja_scope_enter(j, &run, node->frame);
	set_special(run.scope, "self", self);
	set_special(run.scope, "super", super_value(j, list->name, context,
						    depth, list->count));
	if (jinja_step(j))
		jinja_exec(j, &run, &node->body);
	if (jinja_failed(j))
		return;
	j->file = file;
	j->line = line;
}

struct value *jinja_block_text(struct jinja *j, const struct block_ref *block)
{
	const struct block_list *list = jinja_blocks(block->context,
						     block->name);
	struct kf_buf out = { .max = JINJA_TEXT_BYTES };

	jinja_run_block(j, list, block->depth, block->context, &out);
	return jinja_str_take(j, &out);
}

void jinja_exec_block(struct jinja *j, struct run *run, const struct node *node)
{
	struct context *context = run->context;
	const struct block_list *list;

	if (node->toplevel && run->parent && *run->parent)
		return;
	if (node->flag) {
		context = jinja_alloc(j, sizeof(*context));
		context->template = run->context->template;
		context->outer = jinja_context_all(j, run->context, run->scope);
		context->blocks = run->context->blocks;
	}
	list = jinja_blocks(run->context, node->name);
	if (node->required && list->count <= 1) {
		jinja_fail(j, "block %s is required and has no body",
			   node->name);
		return;
	}
	jinja_run_block(j, list, 0, context, run->out);
	if (!jinja_failed(j) && run->out->len >= run->out->max)
		jinja_limit(j, "the output is larger than %zu bytes",
			    run->out->max);
}
