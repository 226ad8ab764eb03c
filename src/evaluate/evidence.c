/* evidence.c - what was found, as JSON for the record. */
#include <math.h>

#include "evaluate/digest.h"
#include "evaluate/feedback.h"

#define PLAN_OPS	64u	/* operations of a plan on record */

/* JSON has no NaN and no infinity; here they are facts, so words stand in. */
static json_t *value(double x)
{
	if (isnan(x))
		return json_string("nan");
	if (isinf(x))
		return json_string(x > 0 ? "inf" : "-inf");
	return json_real(x);
}

static json_t *count(int64_t n)
{
	return json_integer((json_int_t)n);
}

/* T for the output and the data that the fault is about. */
static double limit_of(const struct kf_judgement *j)
{
	const struct kf_check *f = &j->failure;

	return kf_compare_limit(j->req->bundle->out[f->tensor].dtype,
				f->kase ? f->kase->kind : "declared");
}

static json_t *worst(const struct kf_judgement *j)
{
	const struct kf_check *f = &j->failure;
	const struct kf_tensor_info *info = &j->req->bundle->out[f->tensor];
	json_t *list = json_array();

	for (size_t i = 0; i < f->compare.worst_count; i++) {
		const struct kf_worst *w = &f->compare.worst[i];
		json_t *entry = json_object();
		char place[128];

		kf_compare_index(info->rank, info->shape, w->index, place);
		json_object_set_new(entry, "index", json_string(place));
		json_object_set_new(entry, "expected", value(w->expect));
		json_object_set_new(entry, "got", value(w->got));
		json_object_set_new(entry, "q", value(w->q));
		if (w->scale != KF_SCALE_NONE) {
			json_object_set_new(entry, "bound", value(
				KF_COMPARE_FAR * limit_of(j) *
				w->sigma));
			json_object_set_new(entry, "bound_from", json_string(
				kf_scale_name(w->scale)));
		}
		json_array_append_new(list, entry);
	}
	return list;
}

static void add_compare(const struct kf_judgement *j, json_t *json)
{
	const struct kf_compare *c = &j->failure.compare;

	json_object_set_new(json, "output", count((int64_t)j->failure.tensor));
	json_object_set_new(json, "type", json_string(kf_dtype_name(
		j->req->bundle->out[j->failure.tensor].dtype)));
	json_object_set_new(json, "limit", value(limit_of(j)));
	json_object_set_new(json, "elements", count(c->numel));
	json_object_set_new(json, "wrong", count(c->wrong_count));
	json_object_set_new(json, "unwritten", count(c->unwritten_count));
	json_object_set_new(json, "non_finite", count(c->nonfinite_count));
	json_object_set_new(json, "blocks", count(c->block_count));
	json_object_set_new(json, "blocks_bad", count(c->block_bad_count));
	json_object_set_new(json, "q_max", value(c->q_max));
	json_object_set_new(json, "rms_max", value(c->rms_max));
	json_object_set_new(json, "error_max_abs", value(c->error_max_abs));
	json_object_set_new(json, "pattern", json_string(c->pattern));
	json_object_set_new(json, "worst", worst(j));
	if (c->map.rows)
		json_object_set_new(json, "map", kf_error_map_to_json(&c->map));
}

static json_t *failure(const struct kf_judgement *j)
{
	const struct kf_check *f = &j->failure;
	json_t *json = json_object();

	if (f->kase)
		json_object_set_new(json, "set", json_string(f->kase->kind));
	json_object_set_new(json, "call", json_integer(f->call_number));
	json_object_set_new(json, "timed", json_boolean(j->failure_timed));
	json_object_set_new(json, "held", json_boolean(f->held));
	if (f->fault == KF_FAULT_CALL) {
		json_object_set_new(json, "preparing",
				    json_boolean(f->preparing));
		json_object_set_new(json, "signal",
				    json_integer(f->call.signal));
		json_object_set_new(json, "returned",
				    json_integer(f->call.rc));
		json_object_set_new(json, "text", kf_json_string(f->call.text,
						strlen(f->call.text)));
	}
	if (f->fault >= KF_FAULT_UNWRITTEN)
		add_compare(j, json);
	if (f->fault == KF_FAULT_PRECISION) {
		json_object_set_new(json, "precision", json_string(
			kf_precision_name[f->precision]));
		json_object_set_new(json, "coefficient",
				    value(f->found.coefficient));
	}
	if (f->stale)
		json_object_set_new(json, "result_of",
				    json_string(f->stale->kind));
	return json;
}

static json_t *sets(const struct kf_judgement *j)
{
	json_t *json = json_object();

	for (size_t i = 0; i < j->req->bundle->set_count; i++) {
		const struct kf_set_result *r = &j->set[i];
		const char *word = "not run";

		if (r->ran && r->fault == KF_FAULT_CALL)
			word = "runtime_error";
		else if (r->ran && r->fault)
			word = kf_fault_reason(r->fault);
		else if (r->ran)
			word = r->good ? "good" : "mismatch";
		json_object_set_new(json, j->req->bundle->set[i].kind,
				    json_string(word));
	}
	return json;
}

static json_t *rules(const struct kf_judgement *j)
{
	json_t *json = json_object();

	json_object_set_new(json, "decided_by",
			    json_string(j->req->rules == KF_RULES_KERNELBENCH ?
					"kernelbench" : "kforge"));
	json_object_set_new(json, "kforge", json_boolean(j->all_good));
	json_object_set_new(json, "kernelbench", j->kernelbench_seen ?
			    json_boolean(j->kernelbench_good) : json_null());
	return json;
}

static json_t *blocks(const struct kf_judgement *j)
{
	json_t *list = json_array();

	for (size_t i = 0; i < j->block_count; i++) {
		json_t *pair = json_array();

		json_array_append_new(pair, json_real(j->block_ns[i]));
		json_array_append_new(pair, j->req->baseline ?
				      json_real(j->block_baseline_ns[i]) :
				      json_null());
		json_array_append_new(list, pair);
	}
	return list;
}

/* How the times came about. */
static json_t *timing(const struct kf_judgement *j)
{
	json_t *json = json_object();

	json_object_set_new(json, "calls", count((int64_t)j->time_count));
	json_object_set_new(json, "blocks", count((int64_t)j->block_count));
	json_object_set_new(json, "disturbed",
			    count((int64_t)j->disturbed_count));
	json_object_set_new(json, "handshake_ns",
			    count((int64_t)j->shared.handshake_ns));
	json_object_set_new(json, "waited_ns", count((int64_t)j->waited_ns));
	json_object_set_new(json, "clock", json_string(j->shared.device_clock ?
						       "device" : "kforge"));
	if (j->delay_count)
		json_object_set_new(json, "delay_ns_mean", count((int64_t)(
			j->delay_ns / j->delay_count)));
	if (j->wall_count) {
		json_object_set_new(json, "wall_ns_mean", count((int64_t)(
			j->wall_ns / j->wall_count)));
		json_object_set_new(json, "clock_doubted",
				    count((int64_t)j->doubted_count));
	}
	if (!isnan(j->floor.ns))
		json_object_set_new(json, "floor_ns", json_real(j->floor.ns));
	if (j->first_ns > 0)
		json_object_set_new(json, "first_ns", json_real(j->first_ns));
	if (j->cold_ns > 0)
		json_object_set_new(json, "cold_ns", json_real(j->cold_ns));
	if (j->baseline_cold_ns > 0)
		json_object_set_new(json, "baseline_cold_ns",
				    json_real(j->baseline_cold_ns));
	json_object_set_new(json, "clocks", kf_clock_log_to_json(&j->clocks));
	return json;
}

static json_t *notes(const struct kf_judgement *j)
{
	const char *at = kf_buf_str(&j->notes);
	json_t *list = json_array();

	while (*at) {
		size_t len = strcspn(at, "\n");

		json_array_append_new(list, kf_json_string(at, len));
		at += len + (at[len] == '\n');
	}
	return list;
}

/* What is launched for a call, and to prepare. */
static void add_plans(const struct kf_plans *plans, json_t *json)
{
	json_object_set_new(json, "plan", kf_plan_to_json(&plans->forward,
							  PLAN_OPS));
	if (plans->has_prepare)
		json_object_set_new(json, "plan_prepare", kf_plan_to_json(
			&plans->prepare, PLAN_OPS));
}

/* Of a condensed bundle: how many elements of each output are looked at one by
 * one; the others are in sums. */
static json_t *samples(const struct kf_bundle *b)
{
	json_t *list = json_array();

	for (size_t i = 0; i < b->out_count; i++)
		json_array_append_new(list, json_pack("{s:I, s:I, s:i, s:i}",
			"elements", (json_int_t)b->out[i].numel, "one_by_one",
			(json_int_t)kf_expect_count(&b->out[i],
						    &b->set[0].digest[i]),
			"chunk", KF_CHUNK, "sums", KF_CHUNK_SUMS));
	return list;
}

void kf_evidence(struct kf_judgement *j)
{
	json_t *json = json_object();
	char seed[24];

	snprintf(seed, sizeof(seed), "%llu", (unsigned long long)j->seed);
	json_object_set_new(json, "rules", rules(j));
	json_object_set_new(json, "sets", sets(j));
	if (j->failure.fault)
		json_object_set_new(json, "failure", failure(j));
	json_object_set_new(json, "judged_by", json_string(
		j->req->bundle->condensed ? "samples" : "elements"));
	if (j->req->bundle->condensed)
		json_object_set_new(json, "samples", samples(j->req->bundle));
	json_object_set_new(json, "q_max", value(j->q_max));
	json_object_set_new(json, "rms_max", value(j->rms_max));
	json_object_set_new(json, "ties", json_pack("{s:I, s:I}",
		"elements", (json_int_t)j->tie_count,
		"chunks", (json_int_t)j->tie_chunk_count));
	json_object_set_new(json, "same_bytes_in_another_process",
			    j->repeated ? json_boolean(j->repeated_equal) :
			    json_null());
	json_object_set_new(json, "processes",
			    json_integer(j->shared.process_count));
	json_object_set_new(json, "call_timeout_ns",
			    count((int64_t)j->shared.timeout_ns));
	if (j->held_tries)
		json_object_set_new(json, "thread_order", json_pack(
			"{s:i, s:i}", "calls", (int)j->held_tries, "held",
			(int)j->held_calls));
	json_object_set_new(json, "timing", timing(j));
	if (j->req->platform->driver->two_part)
		add_plans(&j->shared.plans, json);
	json_object_set_new(json, "blocks_ns", blocks(j));
	json_object_set_new(json, "order_seed", json_string(seed));
	json_object_set_new(json, "order", kf_json_string(kf_buf_str(&j->order),
							  j->order.len));
	json_object_set_new(json, "notes", notes(j));
	json_decref(j->out->evidence);
	j->out->evidence = json;
}
