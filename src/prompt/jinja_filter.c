/* Finding and calling filters, and the results that wait to be walked. */
#include "prompt/jinja_internal.h"

const struct jinja_filter *jinja_filter_find(const char *name)
{
	static const struct jinja_filter *const tables[] = {
		jinja_filters_text, jinja_filters_list, jinja_filters_pick,
	};

	for (size_t i = 0; i < KF_COUNT(tables); i++)
		for (const struct jinja_filter *at = tables[i]; at->name; at++)
			if (!strcmp(at->name, name))
				return at;
	return NULL;
}

struct value *jinja_gen(struct jinja *j, struct list items)
{
	struct value *v = jinja_new(j, V_GEN);

	v->u.gen = jinja_alloc(j, sizeof(*v->u.gen));
	v->u.gen->items = items;
	return v;
}

/* A filter that fails in the middle has still given the items before: Python
 * raises only when a template asks for more than those. */
void jinja_gen_fill(struct jinja *j, struct gen *gen)
{
	jinja_filter_fn *fill = gen->fill;
	struct value *list;

	if (!fill || jinja_failed(j))
		return;
	gen->fill = NULL;
	list = fill(j, gen->subject, &gen->args);
	if (list->kind == V_LIST)
		gen->items = list->u.list;
	if (j->err.code == KF_E_INPUT) {
		gen->err = j->err;
		j->err = (struct kf_err) { 0 };
	}
}

struct value *jinja_filter_call(struct jinja *j, const char *name,
				struct value *subject,
				const struct args *args)
{
	const struct jinja_filter *filter = jinja_filter_find(name);
	struct value *v = &j->none;
	struct args *bound = jinja_alloc(j, sizeof(*bound));

	if (!filter)
		return jinja_fail(j, "no filter is called %s", name);
	*bound = *args;
	if (strcmp(filter->parameters, "*") != 0 &&
	    !jinja_bind(j, name, filter->parameters, filter->required, args,
			bound))
		return v;
	if (filter->lazy) {
		v = jinja_gen(j, (struct list) { 0 });
		v->u.gen->fill = filter->call;
		v->u.gen->subject = subject;
		v->u.gen->args = *bound;
		return v;
	}
	if (jinja_enter(j))
		v = filter->call(j, subject, bound);
	jinja_leave(j);
	return v;
}
