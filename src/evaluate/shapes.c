#include "evaluate/shapes.h"

#include <math.h>

#define TEXT_BYTES (8u << 10)

void kf_shapes_take(struct kf_verdict *all, const char *name,
		    struct kf_verdict *one)
{
	struct kf_verdict before = *all;
	struct kf_shape_result *result;

	*all = *one;
	*one = (struct kf_verdict) { 0 };
	all->shape_count = before.shape_count + 1;
	all->shape = kf_realloc(before.shape, all->shape_count *
				sizeof(all->shape[0]));
	before.shape = NULL;
	result = &all->shape[all->shape_count - 1];
	*result = (struct kf_shape_result) {
		.state = all->state,
		.time_ns = all->time_ns,
		.baseline_ns = all->baseline_ns,
		.speedup = all->speedup,
		.conclusive = all->conclusive,
	};
	snprintf(result->name, sizeof(result->name), "%s", name);
	all->took_ns += before.took_ns;
	all->compiler_ns += before.compiler_ns;
	all->candidate_ns += before.candidate_ns;
	all->baseline_took_ns += before.baseline_took_ns;
	all->ours_ns += before.ours_ns;
	all->call_count += before.call_count;
	if (before.shape_count) {
		all->kernelbench_good &= before.kernelbench_good;
		if (before.memory_bytes_peak > all->memory_bytes_peak)
			all->memory_bytes_peak = before.memory_bytes_peak;
		if (before.unhealthy[0])
			memcpy(all->unhealthy, before.unhealthy,
			       sizeof(all->unhealthy));
		if (before.unhealthy[0])
			memcpy(all->unhealthy_text, before.unhealthy_text,
			       sizeof(all->unhealthy_text));
	}
	kf_verdict_release(&before);
}

/* exp of the mean of logarithms; NaN if one is NaN. */
static double mean_of(const struct kf_verdict *v,
		      double (*value)(const struct kf_shape_result *))
{
	double sum = 0;

	for (size_t i = 0; i < v->shape_count; i++)
		sum += log(value(&v->shape[i]));
	return exp(sum / (double)v->shape_count);
}

static double time_of(const struct kf_shape_result *r)
{
	return r->time_ns;
}

static double baseline_of(const struct kf_shape_result *r)
{
	return r->baseline_ns;
}

static double ratio_of(const struct kf_shape_result *r)
{
	return r->speedup.ratio;
}

/* The shapes' errors have nothing to do with each other, so their logarithms'
 * widths add up as squares. NaN if one has no interval. */
static struct kf_ratio joint_ratio(const struct kf_verdict *v)
{
	struct kf_ratio joint = { .ratio = mean_of(v, ratio_of) };
	double down = 0, up = 0;

	for (size_t i = 0; i < v->shape_count; i++) {
		const struct kf_ratio *r = &v->shape[i].speedup;

		down += pow(log(r->ratio / r->low), 2);
		up += pow(log(r->high / r->ratio), 2);
		joint.block_count += r->block_count;
	}
	joint.low = joint.ratio * exp(-sqrt(down) / (double)v->shape_count);
	joint.high = joint.ratio * exp(sqrt(up) / (double)v->shape_count);
	joint.width = (joint.high - joint.low) / joint.ratio;
	return joint;
}

size_t kf_shapes_worst(const struct kf_verdict *v)
{
	size_t worst = v->shape_count;

	for (size_t i = 0; i < v->shape_count; i++) {
		double ratio = v->shape[i].speedup.ratio;

		if (!isnan(ratio) && (worst == v->shape_count ||
				      ratio < v->shape[worst].speedup.ratio))
			worst = i;
	}
	return worst;
}

/* --- words ---------------------------------------------------------------- */

static void add_number(struct kf_buf *out, double value, double unit,
		       const char *form)
{
	if (isnan(value))
		kf_buf_printf(out, " %12s", "-");
	else
		kf_buf_printf(out, form, value / unit);
}

static void add_table(const struct kf_verdict *v, struct kf_buf *out)
{
	size_t wide = 5;

	for (size_t i = 0; i < v->shape_count; i++)
		if (strlen(v->shape[i].name) > wide)
			wide = strlen(v->shape[i].name);
	kf_buf_printf(out, "  %-*s %12s %12s %12s\n", (int)wide, "shape",
		      "time, us", "baseline, us", "speed-up");
	for (size_t i = 0; i < v->shape_count; i++) {
		const struct kf_shape_result *r = &v->shape[i];

		kf_buf_printf(out, "  %-*s", (int)wide, r->name);
		add_number(out, r->time_ns, 1e3, " %12.1f");
		add_number(out, r->baseline_ns, 1e3, " %12.1f");
		add_number(out, r->speedup.ratio, 1, " %12.3f");
		kf_buf_puts(out, "\n");
	}
}

static void say_correct(const struct kf_verdict *v, size_t count,
			struct kf_buf *out)
{
	size_t worst = kf_shapes_worst(v);

	kf_buf_printf(out, "The program is correct on all %zu shapes.\n",
		      count);
	if (v->reached != KF_REACH_TIME)
		return;
	add_table(v, out);
	if (worst < v->shape_count)
		kf_buf_printf(out, "Geometric mean of the speed-ups: %.3f; the "
			      "worst shape is %s: %.3f.\n", v->speedup.ratio,
			      v->shape[worst].name,
			      v->shape[worst].speedup.ratio);
}

static void say_failed(const struct kf_verdict *v, size_t count,
		       struct kf_buf *out)
{
	size_t last = v->shape_count - 1;

	kf_buf_printf(out, "On shape %s (%zu of %zu", v->shape[last].name,
		      last + 1, count);
	for (size_t i = 0; i < last; i++)
		kf_buf_printf(out, "%s%s", i ? ", " : "; correct on: ",
			      v->shape[i].name);
	kf_buf_puts(out, "):\n");
	kf_buf_add(out, kf_buf_str(&v->text), v->text.len);
}

void kf_shapes_end(struct kf_verdict *all, size_t count)
{
	struct kf_buf text = { .max = TEXT_BYTES };
	bool whole = all->shape_count == count;

	if (all->state != KF_CORRECT || !whole) {
		say_failed(all, count, &text);
		goto out;
	}
	all->conclusive = true;
	for (size_t i = 0; i < all->shape_count; i++)
		all->conclusive &= all->shape[i].conclusive;
	all->time_ns = mean_of(all, time_of);
	all->baseline_ns = mean_of(all, baseline_of);
	all->speedup = joint_ratio(all);
	say_correct(all, count, &text);
out:
	kf_buf_release(&all->text);
	all->text = text;
}

/* --- JSON ----------------------------------------------------------------- */

json_t *kf_shapes_to_json(const struct kf_verdict *v)
{
	json_t *list = json_array();

	for (size_t i = 0; i < v->shape_count; i++) {
		const struct kf_shape_result *r = &v->shape[i];
		json_t *row = json_object();

		json_object_set_new(row, "name", json_string(r->name));
		json_object_set_new(row, "state",
				    json_string(kf_state_name(r->state)));
		json_object_set_new(row, "time_ns",
				    kf_json_number(r->time_ns));
		json_object_set_new(row, "baseline_ns",
				    kf_json_number(r->baseline_ns));
		json_object_set_new(row, "speedup",
				    kf_json_number(r->speedup.ratio));
		json_object_set_new(row, "speedup_low",
				    kf_json_number(r->speedup.low));
		json_object_set_new(row, "speedup_high",
				    kf_json_number(r->speedup.high));
		json_object_set_new(row, "conclusive",
				    json_boolean(r->conclusive));
		json_array_append_new(list, row);
	}
	return list;
}
