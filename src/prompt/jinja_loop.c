/*
 * for, and the variable called loop. As in Jinja2 the iterable is walked while
 * the loop runs: the condition of a for sees what earlier turns have done, and
 * loop.last or loop.nextitem look one item ahead.
 */
#include "prompt/jinja_internal.h"

/* The next item that passes the condition, or NULL. */
static struct value *next_item(struct jinja *j, struct loop *loop)
{
	const struct node *node = loop->node;
	struct run test = loop->run;

	if (!loop->filtered)
		return jinja_next(j, &loop->iter);
	test.scope = loop->test_scope;
	while (!jinja_failed(j)) {
		struct value *item = jinja_next(j, &loop->iter);
		bool passes;

		if (!item)
			break;
		jinja_scope_reset(j, test.context, test.scope);
		jinja_assign(j, &test, node->a, item);
		if (jinja_failed(j))
			break;
		passes = jinja_truth(j, jinja_eval(j, &test, node->c));
		if (passes && !jinja_failed(j))
			return item;
	}
	return NULL;
}

static struct value *peek(struct jinja *j, struct loop *loop)
{
	if (!loop->after)
		loop->after = next_item(j, loop);
	return loop->after;
}

static bool advance(struct jinja *j, struct loop *loop)
{
	struct value *item = peek(j, loop);

	if (!item || jinja_failed(j))
		return false;
	loop->after = NULL;
	loop->index0++;
	loop->before = loop->current;
	loop->current = item;
	return true;
}

/* Where the length is not known (a generator, a condition), what is left is
 * walked now. */
int64_t jinja_loop_length(struct jinja *j, struct loop *loop)
{
	struct value *rest;

	if (loop->counted)
		return loop->length;
	loop->counted = true;
	if (!loop->filtered && jinja_has_length(loop->iter.over)) {
		loop->length = jinja_length(j, loop->iter.over);
		return loop->length;
	}
	rest = jinja_new(j, V_LIST);
	while (!jinja_failed(j)) {
		struct value *item = next_item(j, loop);

		if (!item)
			break;
		jinja_push(j, &rest->u.list, item);
	}
	loop->length = (int64_t)rest->u.list.count + loop->index0 + 1 +
		       (loop->after != NULL);
	loop->filtered = false;
	loop->iter = jinja_iter(j, rest);
	return loop->length;
}

void jinja_exec_for(struct jinja *j, struct run *run, const struct node *node,
		    struct value *over, int64_t depth0)
{
	struct loop *loop = jinja_alloc(j, sizeof(*loop));
	struct run in = *run;
	bool any = false;

	loop->self = jinja_new(j, V_LOOP);
	loop->self->u.loop = loop;
	loop->node = node;
	loop->run = *run;
	loop->index0 = -1;
	loop->depth0 = depth0;
	loop->iter = jinja_iter(j, over);
	if (node->c) {
		loop->filtered = true;
		loop->test_scope = jinja_scope_enter(j, run, node->frame_test);
	}
	in.scope = jinja_scope_enter(j, run, node->frame);
	while (!jinja_failed(j) && advance(j, loop)) {
		any = true;
		jinja_scope_reset(j, in.context, in.scope);
		jinja_assign(j, &in, node->a, loop->current);
		if (node->has_loop)
			in.scope->slot[node->ref.slot] = loop->self;
		if (!jinja_failed(j))
			jinja_exec(j, &in, &node->body);
		j->line = node->line;
	}
	if (any || jinja_failed(j))
		return;
	in.scope = jinja_scope_enter(j, run, node->frame_else);
	jinja_exec(j, &in, &node->other);
}

/* --- the variable ---------------------------------------------------- */

struct value *jinja_loop_attr(struct jinja *j, struct loop *loop,
			      const char *name)
{
	struct value *item;

	if (!strcmp(name, "index"))
		return jinja_int(j, loop->index0 + 1);
	if (!strcmp(name, "index0"))
		return jinja_int(j, loop->index0);
	if (!strcmp(name, "revindex"))
		return jinja_int(j, jinja_loop_length(j, loop) - loop->index0);
	if (!strcmp(name, "revindex0"))
		return jinja_int(j, jinja_loop_length(j, loop) -
				 loop->index0 - 1);
	if (!strcmp(name, "length"))
		return jinja_int(j, jinja_loop_length(j, loop));
	if (!strcmp(name, "depth"))
		return jinja_int(j, loop->depth0 + 1);
	if (!strcmp(name, "depth0"))
		return jinja_int(j, loop->depth0);
	if (!strcmp(name, "first"))
		return jinja_bool(j, loop->index0 == 0);
	if (!strcmp(name, "last"))
		return jinja_bool(j, !peek(j, loop));
	if (!strcmp(name, "previtem"))
		return loop->before ? loop->before :
			jinja_undefined(j, "there is no previous item");
	if (!strcmp(name, "nextitem")) {
		item = peek(j, loop);
		return item ? item :
			jinja_undefined(j, "there is no next item");
	}
	if (!strcmp(name, "cycle"))
		return jinja_method(j, loop->self, "cycle");
	if (!strcmp(name, "changed"))
		return jinja_method(j, loop->self, "changed");
	return NULL;
}

static struct value *changed(struct jinja *j, struct loop *loop,
			     const struct args *args)
{
	struct value *now = jinja_new(j, V_TUPLE);
	bool same;

	for (size_t i = 0; i < args->count; i++)
		jinja_push(j, &now->u.list, args->at[i]);
	same = loop->changed && jinja_equal(j, loop->changed, now);
	if (!same)
		loop->changed = now;
	return jinja_bool(j, !same);
}

static struct value *recurse(struct jinja *j, struct loop *loop,
			     const struct args *args)
{
	struct kf_buf out = { .max = JINJA_TEXT_BYTES };
	struct run run = loop->run;

	if (!loop->node->flag)
		return jinja_fail(j, "only a recursive loop can be called");
	if (args->count != 1)
		return jinja_fail(j, "a loop is called with one iterable");
	run.out = &out;
	if (jinja_step(j))
		jinja_exec_for(j, &run, loop->node, args->at[0],
			       loop->depth0 + 1);
	return jinja_str_take(j, &out);
}

struct value *jinja_loop_call(struct jinja *j, struct loop *loop,
			      const char *name, const struct args *args)
{
	if (args->key_count)
		return jinja_fail(j, "loop knows no argument called %s",
				  args->key[0]);
	if (!name)
		return recurse(j, loop, args);
	if (!strcmp(name, "changed"))
		return changed(j, loop, args);
	if (!args->count)
		return jinja_fail(j, "cycle wants values");
	return args->at[(uint64_t)loop->index0 % args->count];
}
