#include "loop/attempt.h"

#include <ctype.h>
#include <math.h>

#include "loop/loop.h"

struct kf_attempt *kf_attempts_append(struct kf_attempts *list)
{
	struct kf_attempt *attempt;

	list->attempt = kf_realloc(list->attempt, (list->count + 1) *
				   sizeof(list->attempt[0]));
	attempt = &list->attempt[list->count++];
	*attempt = (struct kf_attempt) {
		.reply.max = KF_REPLY_BYTES,
		.time_ns = (double)NAN,
		.baseline_ns = (double)NAN,
		.speedup = (double)NAN,
		.speedup_low = (double)NAN,
		.speedup_high = (double)NAN,
		.worst_speedup = (double)NAN,
		.eager_ns = (double)NAN,
		.compile_ns = (double)NAN,
	};
	return attempt;
}

void kf_attempts_release(struct kf_attempts *list)
{
	for (size_t i = 0; i < list->count; i++) {
		kf_buf_release(&list->attempt[i].reply);
		kf_candidate_release(&list->attempt[i].candidate);
		free(list->attempt[i].feedback);
		json_decref(list->attempt[i].profile);
		json_decref(list->attempt[i].baseline_about);
		json_decref(list->attempt[i].second.verdict);
	}
	free(list->attempt);
	*list = (struct kf_attempts) { 0 };
}

void kf_attempt_summarize(struct kf_attempt *attempt)
{
	const char *text = kf_buf_str(&attempt->reply);
	const char *fence = strstr(text, "```");
	size_t end = fence ? (size_t)(fence - text) : 0;
	size_t len = 0;

	for (size_t i = 0; i < end && len + 1 < sizeof(attempt->summary); i++) {
		bool space = isspace((unsigned char)text[i]);

		if (!space)
			attempt->summary[len++] = text[i];
		else if (len && attempt->summary[len - 1] != ' ')
			attempt->summary[len++] = ' ';
	}
	len = kf_utf8_cut(attempt->summary, len);
	attempt->summary[len] = '\0';
}

static void set_judged(struct kf_attempt *attempt, enum kf_state state,
		       const char *reason, const char *feedback)
{
	attempt->stage = KF_STAGE_JUDGED;
	attempt->state = state;
	snprintf(attempt->reason, sizeof(attempt->reason), "%s", reason);
	free(attempt->feedback);
	attempt->feedback = kf_strdup(feedback);
}

static void set_worst(struct kf_attempt *attempt, const char *shape,
		      double speedup)
{
	snprintf(attempt->worst_shape, sizeof(attempt->worst_shape), "%s",
		 shape);
	attempt->worst_speedup = speedup;
}

void kf_attempt_judged(struct kf_attempt *attempt,
		       const struct kf_verdict *verdict)
{
	size_t worst;

	attempt->profile = json_incref(json_object_get(verdict->told,
						       "profile"));
	set_judged(attempt, verdict->state, verdict->reason,
		   kf_buf_str(&verdict->text));
	attempt->time_ns = verdict->time_ns;
	attempt->baseline_ns = verdict->baseline_ns;
	attempt->speedup = verdict->speedup.ratio;
	attempt->speedup_low = verdict->speedup.low;
	attempt->speedup_high = verdict->speedup.high;
	attempt->conclusive = verdict->conclusive;
	attempt->kernelbench_good = verdict->kernelbench_good;
	snprintf(attempt->baseline, sizeof(attempt->baseline), "%s",
		 verdict->baseline_way[0] ? verdict->baseline_way :
		 kf_problem_baseline(verdict->kind));
	attempt->eager_ns = verdict->eager_ns;
	attempt->compile_ns = verdict->compile_ns;
	attempt->baseline_about = json_incref(verdict->baseline_about);
	attempt->memory_bytes_peak = verdict->memory_bytes_peak;
	worst = kf_shapes_worst(verdict);
	if (worst < verdict->shape_count)
		set_worst(attempt, verdict->shape[worst].name,
			  verdict->shape[worst].speedup.ratio);
}

/* [{"name","hash"}] back into files. */
static enum kf_code load_source(struct kf_store *store, const char *json,
				struct kf_candidate *out, struct kf_err *err)
{
	struct kf_buf text = { .max = KF_REPLY_BYTES };
	enum kf_code code;
	json_t *list, *entry;
	size_t i;

	code = kf_json_parse(json, strlen(json), "a stored source list", &list,
			     err);
	if (code)
		return code;
	out->file_count = json_array_size(list);
	out->file = kf_alloc(out->file_count * sizeof(out->file[0]));
	json_array_foreach(list, i, entry) {
		kf_buf_clear(&text);
		code = kf_store_get(store, kf_json_str(entry, "hash", ""),
				    &text, err);
		if (code)
			break;
		out->file[i].name = kf_strdup(kf_json_str(entry, "name", ""));
		out->file[i].text = kf_strndup(kf_buf_str(&text), text.len);
		out->file[i].len = text.len;
	}
	kf_candidate_rehash(out);
	kf_buf_release(&text);
	json_decref(list);
	return code;
}

static enum kf_finish finish_by_name(const char *name)
{
	static const struct { const char *name; enum kf_finish finish; } t[] = {
		{ "stop", KF_FINISH_STOP },
		{ "length", KF_FINISH_LENGTH },
		{ "refused", KF_FINISH_REFUSED },
	};

	for (size_t i = 0; i < KF_COUNT(t); i++)
		if (strcmp(name, t[i].name) == 0)
			return t[i].finish;
	return KF_FINISH_UNKNOWN;
}

static enum kf_code load_texts(struct kf_store *store,
			       const struct kf_attempt_row *row,
			       struct kf_attempt *a, struct kf_err *err)
{
	enum kf_code code = KF_OK;

	if (row->reply_hash) {
		code = kf_store_get(store, row->reply_hash, &a->reply, err);
		kf_attempt_summarize(a);
	}
	if (!code && row->source_json)
		code = load_source(store, row->source_json, &a->candidate,
				   err);
	return code;
}

static enum kf_code load_verdict(const struct kf_attempt_row *row,
				 struct kf_attempt *a, struct kf_err *err)
{
	json_t *verdict = NULL;
	const json_t *ratio, *worst, *ways;
	enum kf_code code;

	a->id = row->id;
	a->number = row->number;
	a->stage = row->stage;
	a->tokens = row->tokens_in + row->tokens_out;
	snprintf(a->kind, sizeof(a->kind), "%s", row->kind);
	if (row->finish)
		a->finish = finish_by_name(row->finish);
	if (!row->verdict_json)
		return KF_OK;
	code = kf_json_parse(row->verdict_json, strlen(row->verdict_json),
			     "a stored verdict", &verdict, err);
	if (code)
		return code;
	set_judged(a, kf_state_by_name(row->state), row->reason,
		   kf_json_str(verdict, "text", ""));
	a->profile = json_incref(json_object_get(verdict, "profile"));
	a->time_ns = row->time_ns;
	a->baseline_ns = row->baseline_ns;
	a->speedup = row->speedup;
	ratio = json_object_get(verdict, "speedup");
	a->speedup_low = kf_json_real(ratio, "low", (double)NAN);
	a->speedup_high = kf_json_real(ratio, "high", (double)NAN);
	a->conclusive = kf_json_bool(verdict, "conclusive", false);
	a->kernelbench_good = kf_json_bool(verdict, "kernelbench_good", false);
	snprintf(a->baseline, sizeof(a->baseline), "%s",
		 kf_json_str(verdict, "baseline", ""));
	ways = json_object_get(verdict, "baseline_ways");
	a->eager_ns = kf_json_real(ways, "eager", (double)NAN);
	a->compile_ns = kf_json_real(ways, "compile", (double)NAN);
	a->baseline_about = json_incref(json_object_get(verdict,
							"baseline_about"));
	a->memory_bytes_peak = (uint64_t)kf_json_int(verdict,
						     "memory_bytes_peak", 0);
	worst = json_object_get(verdict, "worst_shape");
	set_worst(a, kf_json_str(worst, "name", ""),
		  kf_json_real(worst, "speedup", (double)NAN));
	json_decref(verdict);
	return KF_OK;
}

void kf_attempt_second_take(struct kf_attempt *attempt, json_t *verdict)
{
	const json_t *ratio = json_object_get(verdict, "speedup");
	struct kf_second *s = &attempt->second;
	const double nan = (double)NAN;

	json_decref(s->verdict);
	*s = (struct kf_second) {
		.state = kf_state_by_name(kf_json_str(verdict, "state", "")),
		.place = (unsigned)kf_json_int(verdict, "place", 0),
		.of = (unsigned)kf_json_int(verdict, "of", 0),
		.time_ns = kf_json_real(verdict, "time_ns", nan),
		.baseline_ns = kf_json_real(verdict, "baseline_ns", nan),
		.speedup = {
			.ratio = kf_json_real(ratio, "ratio", nan),
			.low = kf_json_real(ratio, "low", nan),
			.high = kf_json_real(ratio, "high", nan),
		},
		.conclusive = kf_json_bool(verdict, "conclusive", false),
		.verdict = verdict,
	};
	snprintf(s->reason, sizeof(s->reason), "%s",
		 kf_json_str(verdict, "reason", ""));
}

static enum kf_code load_second(const struct kf_attempt_row *row,
				struct kf_attempt *a, struct kf_err *err)
{
	json_t *verdict = NULL;
	enum kf_code code;

	if (!row->second_json)
		return KF_OK;
	code = kf_json_parse(row->second_json, strlen(row->second_json),
			     "a stored second verdict", &verdict, err);
	if (!code)
		kf_attempt_second_take(a, verdict);
	return code;
}

static enum kf_code load(struct kf_store *store, int64_t problem_id,
			 bool texts, struct kf_attempts *out,
			 struct kf_err *err)
{
	struct kf_attempt_row *row = NULL;
	enum kf_code code;
	size_t count = 0;

	*out = (struct kf_attempts) { 0 };
	code = kf_store_attempts(store, problem_id, &row, &count, err);
	for (size_t i = 0; !code && i < count; i++) {
		struct kf_attempt *attempt = kf_attempts_append(out);

		code = load_verdict(&row[i], attempt, err);
		if (!code)
			code = load_second(&row[i], attempt, err);
		if (!code && texts)
			code = load_texts(store, &row[i], attempt, err);
	}
	kf_attempt_rows_free(row, count);
	return code;
}

enum kf_code kf_attempts_load(struct kf_store *store, int64_t problem_id,
			      struct kf_attempts *out, struct kf_err *err)
{
	return load(store, problem_id, true, out, err);
}

enum kf_code kf_attempts_load_verdicts(struct kf_store *store,
				       int64_t problem_id,
				       struct kf_attempts *out,
				       struct kf_err *err)
{
	return load(store, problem_id, false, out, err);
}

size_t kf_attempts_judged(const struct kf_attempts *list)
{
	size_t count = 0;

	while (count < list->count &&
	       list->attempt[count].stage == KF_STAGE_JUDGED)
		count++;
	return count;
}

struct kf_policy_attempt *kf_attempts_for_policy(const struct kf_attempts *l,
						 size_t count)
{
	struct kf_policy_attempt *out = kf_alloc(count * sizeof(*out));

	for (size_t i = 0; i < count; i++)
		out[i] = (struct kf_policy_attempt) {
			.state = l->attempt[i].state,
			.time_ns = l->attempt[i].time_ns,
			.speedup = l->attempt[i].speedup,
			.speedup_low = l->attempt[i].speedup_low,
			.conclusive = l->attempt[i].conclusive &&
				isfinite(l->attempt[i].speedup),
		};
	return out;
}

enum kf_state kf_attempt_state(const struct kf_attempt *attempt)
{
	return attempt->second.state ? attempt->second.state : attempt->state;
}

struct kf_times kf_attempt_times(const struct kf_attempt *a)
{
	const struct kf_second *s = &a->second;

	if (s->time_ns > 0)
		return (struct kf_times) {
			s->time_ns, s->baseline_ns, s->speedup.ratio,
			s->speedup.low, s->speedup.high, s->conclusive,
		};
	return (struct kf_times) {
		a->time_ns, a->baseline_ns, a->speedup, a->speedup_low,
		a->speedup_high, a->conclusive,
	};
}

const struct kf_attempt *kf_attempts_best(const struct kf_attempts *list)
{
	size_t count = kf_attempts_judged(list), best;
	struct kf_policy_attempt *p;
	bool again = false;

	for (size_t i = 0; i < count; i++) {
		if (list->attempt[i].second.place == 1)
			return &list->attempt[i];
		again |= list->attempt[i].second.state != KF_STATE_NONE;
	}
	if (again)
		return NULL;
	p = kf_attempts_for_policy(list, count);
	best = kf_policy_best(p, count);
	free(p);
	return best == KF_POLICY_NO_ATTEMPT ? NULL : &list->attempt[best];
}

static struct kf_prompt_shape shape_of(const struct kf_target *target)
{
	return (struct kf_prompt_shape) {
		.name = target->problem.shape, .bundle = &target->bundle,
	};
}

size_t kf_loop_shapes(const struct kf_target *target,
		      struct kf_prompt_shape out[KF_PROMPT_SHAPES])
{
	size_t count = 0;

	if (!target->problem.shape)
		return 0;
	out[count++] = shape_of(target);
	for (size_t i = 0; i < target->more_count &&
	     count < KF_PROMPT_SHAPES; i++)
		out[count++] = shape_of(&target->more[i]);
	return count;
}

struct kf_prompt_attempt kf_attempt_for_prompt(const struct kf_attempt *a)
{
	return (struct kf_prompt_attempt) {
		.number = a->number,
		.state = kf_state_name(a->state),
		.reason = a->reason,
		.feedback = a->feedback,
		.file = a->candidate.file,
		.file_count = a->candidate.file_count,
		.time_ns = a->time_ns,
		.baseline_ns = a->baseline_ns,
		.speedup = a->speedup,
		.summary = a->summary[0] ? a->summary : NULL,
	};
}
