/* explain_plan.c - what a two-part program launches for a call, told. */
#include "evaluate/explain.h"

#define LINES	16u		/* operations that are told, of each plan */

static void add_dims(const char *before, const json_t *dims,
		     struct kf_buf *out)
{
	const json_t *dim;
	size_t i;

	kf_buf_puts(out, before);
	json_array_foreach(dims, i, dim)
		kf_buf_printf(out, "%s%lld", i ? " x " : "",
			      (long long)json_integer_value(dim));
}

static void add_place(const char *before, const json_t *place,
		      struct kf_buf *out)
{
	kf_buf_printf(out, "%s%s", before, kf_json_str(place, "buffer", "?"));
	if (json_object_get(place, "offset"))
		kf_buf_printf(out, " at byte %lld", (long long)
			      json_integer_value(json_object_get(place,
								 "offset")));
}

static void add_launch(const json_t *op, struct kf_buf *out)
{
	const json_t *shared = json_object_get(op, "shared_bytes");

	kf_buf_puts(out, kf_json_str(op, "launch", "?"));
	add_dims(", grid ", json_object_get(op, "grid"), out);
	add_dims(", group ", json_object_get(op, "group"), out);
	if (json_object_get(op, "cluster"))
		add_dims(", cluster ", json_object_get(op, "cluster"), out);
	if (shared)
		kf_buf_printf(out, ", %lld bytes of group memory",
			      (long long)json_integer_value(shared));
	if (kf_json_bool(op, "cooperative", false))
		kf_buf_puts(out, ", cooperative");
	if (kf_json_bool(op, "dependent", false))
		kf_buf_puts(out, ", dependent");
}

static void add_operation(const json_t *op, struct kf_buf *out)
{
	long long bytes = json_integer_value(json_object_get(op, "bytes"));

	if (json_object_get(op, "launch")) {
		add_launch(op, out);
	} else if (json_object_get(op, "fill")) {
		add_place("fill ", json_object_get(op, "fill"), out);
		kf_buf_printf(out, ", %lld bytes", bytes);
	} else {
		add_place("copy to ", json_object_get(op, "copy"), out);
		add_place(" from ", json_object_get(op, "from"), out);
		kf_buf_printf(out, ", %lld bytes", bytes);
	}
}

static void explain(const json_t *plan, const char *heading,
		    struct kf_buf *out)
{
	size_t count = json_array_size(plan), i;
	long long more = json_integer_value(json_object_get(
			json_array_get(plan, count ? count - 1 : 0), "more"));
	const json_t *op;

	if (!count)
		return;
	count -= more > 0;
	kf_buf_printf(out, "\n%s\n", heading);
	json_array_foreach(plan, i, op) {
		if (i == count || i == LINES)
			break;
		kf_buf_printf(out, "  %2zu  ", i + 1);
		add_operation(op, out);
		kf_buf_puts(out, "\n");
	}
	more += (long long)(count - i);
	if (more > 0)
		kf_buf_printf(out, "      and %lld more\n", more);
}

void kf_explain_plans(const json_t *verdict, struct kf_buf *out)
{
	const json_t *evidence = json_object_get(verdict, "evidence");

	explain(json_object_get(evidence, "plan_prepare"),
		"What kf_prepare launches", out);
	explain(json_object_get(evidence, "plan"), "What a call launches",
		out);
}
