/* Calls: macros, global functions, arguments by name. */
#include "prompt/jinja_internal.h"

/* --- arguments by name ----------------------------------------------- */

/* Place of a name in "first,second", or -1. */
static int place_of(const char *parameters, const char *name)
{
	size_t len = strlen(name);
	int place = 0;

	for (const char *at = parameters; *at; place++) {
		size_t n = strcspn(at, ",");

		if (n == len && !memcmp(at, name, len))
			return place;
		at += n + (at[n] == ',');
	}
	return -1;
}

static size_t count_of(const char *parameters)
{
	size_t count = *parameters != '\0';

	for (; *parameters; parameters++)
		count += *parameters == ',';
	return count;
}

bool jinja_bind(struct jinja *j, const char *what, const char *parameters,
		unsigned required, const struct args *given, struct args *out)
{
	size_t count = count_of(parameters);

	*out = (struct args) { .count = count };
	out->at = jinja_alloc(j, (count + 1) * sizeof(out->at[0]));
	if (given->count > count) {
		jinja_fail(j, "%s takes not more than %zu arguments", what,
			   count);
		return false;
	}
	for (size_t i = 0; i < given->count; i++)
		out->at[i] = given->at[i];
	for (size_t i = 0; i < given->key_count; i++) {
		int place = place_of(parameters, given->key[i]);

		if (place < 0 || out->at[place]) {
			jinja_fail(j, place < 0 ?
				   "%s knows no argument called %s" :
				   "%s is given %s twice", what, given->key[i]);
			return false;
		}
		out->at[place] = given->value[i];
	}
	for (size_t i = 0; i < required; i++)
		if (!out->at[i]) {
			jinja_fail(j, "%s wants %u argument(s)", what,
				   required);
			return false;
		}
	return true;
}

/* --- global functions ------------------------------------------------ */

static struct value *call_range(struct jinja *j, const struct args *args)
{
	struct value *v = jinja_new(j, V_RANGE);
	int64_t n[3] = { 0, 0, 1 };

	if (args->key_count || args->count < 1 || args->count > 3)
		return jinja_fail(j, "range wants one to three numbers");
	for (size_t i = 0; i < args->count; i++)
		n[i] = jinja_as_int(j, args->at[i], "range's argument");
	if (args->count == 1) {
		n[1] = n[0];
		n[0] = 0;
	}
	if (!n[2])
		return jinja_fail(j, "range's step cannot be zero");
	v->u.range.start = n[0];
	v->u.range.stop = n[1];
	v->u.range.step = n[2];
	return v;
}

static void fill_dict(struct jinja *j, struct dict *dict, struct value *from)
{
	struct iter iter;

	if (from->kind == V_DICT) {
		for (size_t i = 0; i < from->u.dict.count; i++)
			jinja_dict_set(j, dict, from->u.dict.at[i].key,
				       from->u.dict.at[i].value);
		return;
	}
	iter = jinja_iter(j, from);
	while (!jinja_failed(j)) {
		struct value *item = jinja_next(j, &iter), *pair;

		if (!item)
			break;
		pair = jinja_list_of(j, item);
		if (jinja_failed(j) || pair->u.list.count != 2)
			jinja_fail(j, "dict wants pairs");
		else
			jinja_dict_set(j, dict, pair->u.list.at[0],
				       pair->u.list.at[1]);
	}
}

static struct value *make_dict(struct jinja *j, enum value_kind kind,
			       const struct args *args)
{
	struct value *v = jinja_new(j, kind);

	if (args->count > 1)
		return jinja_fail(j, "dict takes one argument and keywords");
	if (args->count)
		fill_dict(j, &v->u.dict, args->at[0]);
	for (size_t i = 0; i < args->key_count && !jinja_failed(j); i++)
		jinja_dict_put(j, &v->u.dict, args->key[i], args->value[i]);
	return v;
}

static struct value *call_dict(struct jinja *j, const struct args *args)
{
	return make_dict(j, V_DICT, args);
}

static struct value *call_namespace(struct jinja *j, const struct args *args)
{
	return make_dict(j, V_NAMESPACE, args);
}

static const struct jinja_function functions[] = {
	{ "range", call_range }, { "dict", call_dict },
	{ "namespace", call_namespace },
};

struct value *jinja_global(struct jinja *j, const char *name)
{
	struct value *v;

	for (size_t i = 0; i < KF_COUNT(functions); i++) {
		if (strcmp(functions[i].name, name) != 0)
			continue;
		v = jinja_new(j, V_FUNCTION);
		v->u.function = &functions[i];
		return v;
	}
	return NULL;
}

/* --- macros ---------------------------------------------------------- */

struct macro_call {
	const struct macro *macro;
	const struct args *given;
	bool *taken;		/* of given's keywords */
	struct run run;
	size_t bound;		/* parameters bound by place */
};

static struct value *take_keyword(struct macro_call *call, const char *name)
{
	for (size_t i = 0; i < call->given->key_count; i++)
		if (!call->taken[i] && !strcmp(call->given->key[i], name)) {
			call->taken[i] = true;
			return call->given->value[i];
		}
	return NULL;
}

static struct value **slot_named(struct macro_call *call, const char *name)
{
	const struct frame *frame = call->run.scope->frame;

	for (size_t i = 0; i < frame->count; i++)
		if (!strcmp(frame->at[i].name, name))
			return &call->run.scope->slot[i];
	return NULL;
}

/* caller, kwargs and varargs, where the body uses them. */
static void bind_specials(struct jinja *j, struct macro_call *call)
{
	const struct node *node = call->macro->node;
	const struct args *given = call->given;
	struct value **slot, *v;
	bool has_parameter = false;

	for (size_t i = 0; i < node->kids.count; i++)
		has_parameter |= !strcmp(node->kids.at[i]->name, "caller");
	if (node->has_caller && !has_parameter) {
		v = take_keyword(call, "caller");
		slot = slot_named(call, "caller");
		*slot = v && v->kind != V_NONE ? v :
			jinja_undefined(j, "no caller is defined");
	}
	if (node->has_kwargs) {
		slot = slot_named(call, "kwargs");
		*slot = jinja_new(j, V_DICT);
		for (size_t i = 0; i < given->key_count; i++)
			if (!call->taken[i])
				jinja_dict_put(j, &(*slot)->u.dict,
					       given->key[i], given->value[i]);
	} else {
		for (size_t i = 0; i < given->key_count; i++)
			if (!call->taken[i])
				jinja_fail(j, "macro %s knows no argument "
					   "called %s", call->macro->name ?
					   call->macro->name : "caller",
					   given->key[i]);
	}
	if (node->has_varargs) {
		slot = slot_named(call, "varargs");
		*slot = jinja_new(j, V_TUPLE);
		for (size_t i = call->bound; i < given->count; i++)
			jinja_push(j, &(*slot)->u.list, given->at[i]);
	} else if (given->count > node->kids.count) {
		jinja_fail(j, "macro %s takes not more than %zu argument(s)",
			   call->macro->name ? call->macro->name : "caller",
			   node->kids.count);
	}
}

static void bind_parameters(struct jinja *j, struct macro_call *call)
{
	const struct node *node = call->macro->node;
	size_t count = node->kids.count;

	for (size_t i = 0; i < count; i++) {
		struct value **slot = slot_named(call, node->kids.at[i]->name);

		if (i < call->given->count) {
			*slot = call->given->at[i];
			call->bound++;
		} else {
			*slot = take_keyword(call, node->kids.at[i]->name);
		}
	}
	bind_specials(j, call);
	for (size_t i = 0; i < count && !jinja_failed(j); i++) {
		struct value **slot = slot_named(call, node->kids.at[i]->name);

		if (*slot)
			continue;
		if (count - i <= node->other.count)
			*slot = jinja_eval(j, &call->run,
				node->other.at[i + node->other.count - count]);
		else
			*slot = jinja_undefined(j, "argument %s was not given",
						node->kids.at[i]->name);
	}
}

static struct value *call_macro(struct jinja *j, const struct macro *macro,
				const struct args *args)
{
	struct kf_buf out = { .max = JINJA_TEXT_BYTES };
	const char *file = j->file;
	struct macro_call call = { .macro = macro, .given = args };

	call.taken = jinja_alloc(j, args->key_count + 1);
	call.run = (struct run) {
		.template = macro->template,
		.context = macro->context,
		.scope = macro->scope,
		.out = &out,
	};
	j->file = macro->template->name;
	if (jinja_step(j)) {
		call.run.scope = jinja_scope_enter(j, &call.run,
						   macro->node->frame);
		bind_parameters(j, &call);
	}
	if (!jinja_failed(j))
		jinja_exec(j, &call.run, &macro->node->body);
	if (!jinja_failed(j))
		j->file = file;
	return jinja_str_take(j, &out);
}

struct value *jinja_call(struct jinja *j, struct value *callee,
			 const struct args *args)
{
	switch (callee->kind) {
	case V_MACRO:
		return call_macro(j, callee->u.macro, args);
	case V_FUNCTION:
		return callee->u.function->call(j, args);
	case V_METHOD:
		return jinja_call_method(j, callee->u.method.self,
					 callee->u.method.name, args);
	case V_LOOP:
		return jinja_loop_call(j, callee->u.loop, NULL, args);
	case V_BLOCK:
		if (args->count || args->key_count)
			return jinja_fail(j, "a block takes no arguments");
		return jinja_block_text(j, callee->u.block);
	case V_UNDEFINED:
		return jinja_undefined_used(j, callee);
	default:
		return jinja_fail(j, "a %s cannot be called",
				  jinja_kind_name(callee));
	}
}
