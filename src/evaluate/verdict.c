/* verdict.c - a verdict as names, as JSON, and in words for people. */
#include "evaluate/evaluate.h"

#include <math.h>

#include "evaluate/health.h"
#include "evaluate/libraries.h"
#include "evaluate/shapes.h"

static const char *const state_name[] = {
	[KF_STATE_NONE] = "none",
	[KF_GENERATION_FAILURE] = "generation_failure",
	[KF_COMPILATION_FAILURE] = "compilation_failure",
	[KF_RUNTIME_ERROR] = "runtime_error",
	[KF_MISMATCH] = "mismatch",
	[KF_CORRECT] = "correct",
};

const char *kf_state_name(enum kf_state state)
{
	return (size_t)state < KF_COUNT(state_name) ? state_name[state] :
		state_name[KF_STATE_NONE];
}

enum kf_state kf_state_by_name(const char *name)
{
	for (size_t i = 0; name && i < KF_COUNT(state_name); i++)
		if (strcmp(name, state_name[i]) == 0)
			return (enum kf_state)i;
	return KF_STATE_NONE;
}

static const char *const reach_name[] = {
	[KF_REACH_NONE] = "none",
	[KF_REACH_BUILD] = "build",
	[KF_REACH_VALUES] = "values",
	[KF_REACH_TIME] = "time",
};

const char *kf_reach_name(enum kf_reach reach)
{
	return reach_name[reach];
}

const char *kf_rules_name(enum kf_rules rules)
{
	return rules == KF_RULES_KERNELBENCH ? "kernelbench" : "kforge";
}

void kf_verdict_release(struct kf_verdict *verdict)
{
	kf_buf_release(&verdict->compiler_log);
	free(verdict->shape);
	verdict->shape = NULL;
	verdict->shape_count = 0;
	free(verdict->compiler);
	verdict->compiler = NULL;
	kf_buf_release(&verdict->text);
	json_decref(verdict->evidence);
	verdict->evidence = NULL;
	json_decref(verdict->baseline_about);
	verdict->baseline_about = NULL;
	json_decref(verdict->profile);
	verdict->profile = NULL;
	json_decref(verdict->libraries);
	verdict->libraries = NULL;
	json_decref(verdict->told);
	verdict->told = NULL;
}

bool kf_verdict_may_be_elsewhere(const struct kf_verdict *verdict)
{
	return verdict->state == KF_GENERATION_FAILURE ||
	       verdict->state == KF_COMPILATION_FAILURE ||
	       verdict->state == KF_RUNTIME_ERROR;
}

void kf_verdict_hint(struct kf_verdict *verdict, const char *line)
{
	struct kf_buf *text = &verdict->text;

	text->max += strlen(line) + 2;
	if (text->len && text->data[text->len - 1] != '\n')
		kf_buf_puts(text, "\n");
	kf_buf_printf(text, "%s\n", line);
}

void kf_verdict_set_health(struct kf_verdict *verdict,
			   const struct kf_health *health)
{
	snprintf(verdict->unhealthy, sizeof(verdict->unhealthy), "%s",
		 health->reason);
	snprintf(verdict->unhealthy_text, sizeof(verdict->unhealthy_text),
		 "%s", health->text);
}

/* --- JSON ---------------------------------------------------------------- */

static json_t *nanoseconds(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *ratio_to_json(const struct kf_ratio *r)
{
	json_t *json;

	if (isnan(r->ratio))
		return json_null();
	json = json_object();
	json_object_set_new(json, "ratio", kf_json_number(r->ratio));
	json_object_set_new(json, "low", kf_json_number(r->low));
	json_object_set_new(json, "high", kf_json_number(r->high));
	json_object_set_new(json, "width", kf_json_number(r->width));
	json_object_set_new(json, "blocks",
			    json_integer((json_int_t)r->block_count));
	return json;
}

static json_t *took_to_json(const struct kf_verdict *v)
{
	json_t *json = json_object();

	json_object_set_new(json, "all_ns", nanoseconds(v->took_ns));
	json_object_set_new(json, "compiler_ns", nanoseconds(v->compiler_ns));
	json_object_set_new(json, "candidate_ns", nanoseconds(v->candidate_ns));
	json_object_set_new(json, "baseline_ns",
			    nanoseconds(v->baseline_took_ns));
	json_object_set_new(json, "ours_ns", nanoseconds(v->ours_ns));
	return json;
}

static json_t *judge_to_json(const struct kf_verdict *v)
{
	json_t *json = json_object();

	json_object_set_new(json, "version", json_string(KF_VERSION));
	json_object_set_new(json, "hash", v->judge_hash[0] ?
			    json_string(v->judge_hash) : json_null());
	return json;
}

static json_t *name_or_null(const char *name)
{
	return name && name[0] ? kf_json_string(name, strlen(name)) :
		json_null();
}

/* Only where there are several. */
static void set_shapes(json_t *json, const struct kf_verdict *v)
{
	size_t worst = kf_shapes_worst(v);

	if (!v->shape_count)
		return;
	json_object_set_new(json, "shapes", kf_shapes_to_json(v));
	if (worst < v->shape_count)
		json_object_set_new(json, "worst_shape", json_pack(
			"{s:s, s:f}", "name", v->shape[worst].name,
			"speedup", v->shape[worst].speedup.ratio));
}

json_t *kf_verdict_to_json(const struct kf_verdict *v)
{
	json_t *json;

	if (v->told)
		return json_deep_copy(v->told);
	json = json_object();
	json_object_set_new(json, "state",
			    json_string(kf_state_name(v->state)));
	json_object_set_new(json, "reason", json_string(v->reason));
	json_object_set_new(json, "text",
			    kf_json_string(kf_buf_str(&v->text), v->text.len));
	json_object_set_new(json, "reached",
			    json_string(kf_reach_name(v->reached)));
	json_object_set_new(json, "stop_after",
			    json_string(kf_reach_name(v->stop_after)));
	json_object_set_new(json, "time_ns", kf_json_number(v->time_ns));
	json_object_set_new(json, "baseline_ns",
			    kf_json_number(v->baseline_ns));
	json_object_set_new(json, "baseline", json_string(v->baseline_way[0] ?
			    v->baseline_way : kf_problem_baseline(v->kind)));
	if (v->baseline_way[0])
		json_object_set_new(json, "baseline_ways", json_pack(
			"{s:o, s:o}", "eager", kf_json_number(v->eager_ns),
			"compile", kf_json_number(v->compile_ns)));
	if (v->baseline_about)
		json_object_set(json, "baseline_about", v->baseline_about);
	json_object_set_new(json, "baseline_live",
			    json_boolean(v->baseline_live));
	json_object_set_new(json, "speedup", ratio_to_json(&v->speedup));
	json_object_set_new(json, "conclusive", json_boolean(v->conclusive));
	set_shapes(json, v);
	json_object_set_new(json, "kernelbench_good",
			    json_boolean(v->kernelbench_good));
	json_object_set_new(json, "healthy", json_boolean(!v->unhealthy[0]));
	json_object_set_new(json, "unhealthy", name_or_null(v->unhealthy));
	json_object_set_new(json, "unhealthy_text",
			    name_or_null(v->unhealthy_text));
	json_object_set_new(json, "trust", json_string(v->in_process ?
						       "in-process" :
						       "isolated"));
	json_object_set_new(json, "sandbox",
			    json_string(kf_sandbox_tier_name(v->tier)));
	json_object_set_new(json, "form", name_or_null(v->form));
	json_object_set(json, "libraries", v->libraries ? v->libraries :
			json_null());
	json_object_set_new(json, "judge", judge_to_json(v));
	json_object_set_new(json, "rules",
			    json_string(kf_rules_name(v->rules)));
	json_object_set_new(json, "seed", v->seed ? nanoseconds(v->seed) :
			    json_null());
	json_object_set_new(json, "device", name_or_null(v->device));
	if (v->device_id[0])
		json_object_set_new(json, "device_id",
				    json_string(v->device_id));
	json_object_set_new(json, "compiler", name_or_null(v->compiler));
	if (v->compiler_log.len)
		json_object_set_new(json, "compiler_log", kf_json_string(
			kf_buf_str(&v->compiler_log), v->compiler_log.len));
	json_object_set_new(json, "prepare_ns", nanoseconds(v->prepare_ns));
	json_object_set_new(json, "memory_bytes_peak",
			    nanoseconds(v->memory_bytes_peak));
	json_object_set_new(json, "calls", json_integer(v->call_count));
	json_object_set_new(json, "took", took_to_json(v));
	json_object_set_new(json, "artefact", json_string(v->artefact_hash));
	json_object_set(json, "evidence", v->evidence ? v->evidence :
			json_null());
	if (v->profile)
		json_object_set(json, "profile", v->profile);
	return json;
}

/* --- words --------------------------------------------------------------- */

static void say_time(double ns, struct kf_buf *out)
{
	char words[32];

	kf_buf_puts(out, kf_time_words(ns, 4, words));
}

/* An addition to a list in words. */
static void put_word(char out[160], const char *fmt, ...)
	KF_PRINTF(2, 3);

static void put_word(char out[160], const char *fmt, ...)
{
	size_t len = strlen(out);
	va_list ap;

	if (len && len < 158)
		memcpy(out + len, ", ", 3);
	len = strlen(out);
	va_start(ap, fmt);
	vsnprintf(out + len, 160 - len, fmt, ap);
	va_end(ap);
}

const char *kf_baseline_words(const json_t *about, char out[160])
{
	const char *version = kf_json_str(about, "version", "");
	const char *driver = kf_json_str(about, "driver", "");
	double tf32_ns = kf_json_real(about, "eager_tf32_ns", 0);
	double compile_ns = kf_json_real(about, "compile_tf32_ns", 0);
	int64_t launches = kf_json_int(about, "launches", 0);
	int64_t bytes = kf_json_int(about, "memory_bytes_peak", 0);
	char time[32], compiled[32];

	out[0] = '\0';
	if (version[0])
		put_word(out, "%s%.60s", version[0] >= '0' &&
			 version[0] <= '9' ? "torch " : "", version);
	if (kf_json_str(about, "compile_error", NULL))
		put_word(out, "not compiled");
	if (driver[0])
		put_word(out, "driver %.40s", driver);
	if (launches > 0)
		put_word(out, "%lld launch%s", (long long)launches,
			 launches == 1 ? "" : "es");
	if (bytes > 0)
		put_word(out, "peak memory %.3g GB", (double)bytes / 1e9);
	if (tf32_ns > 0 && compile_ns > 0)
		put_word(out, "with TF32 eager %s and torch.compile %s",
			 kf_time_words(tf32_ns, 4, time),
			 kf_time_words(compile_ns, 4, compiled));
	else if (tf32_ns > 0)
		put_word(out, "with TF32 eager %s",
			 kf_time_words(tf32_ns, 4, time));
	return out;
}

static void say_baseline(const json_t *about, struct kf_buf *out)
{
	const char *error = kf_json_str(about, "compile_error", NULL);
	char words[160];

	if (kf_baseline_words(about, words)[0])
		kf_buf_printf(out, "      baseline: %s\n", words);
	if (error)
		kf_buf_printf(out, "      torch.compile failed: %.300s\n",
			      error);
}

static void say_speedup(const struct kf_verdict *v, struct kf_buf *out)
{
	size_t worst = kf_shapes_worst(v);

	kf_buf_puts(out, v->shape_count ? "means over all shapes: " :
		    "time: ");
	say_time(v->time_ns, out);
	kf_buf_puts(out, " a call (median)");
	if (!isnan(v->baseline_ns)) {
		kf_buf_printf(out, ", %s%s ",
			      strcmp(v->baseline_way, "compile") == 0 ?
			      "torch.compile" :
			      kf_problem_baseline_words(v->kind),
			      v->baseline_live ? "" : " (stored)");
		say_time(v->baseline_ns, out);
	}
	if (!isnan(v->speedup.ratio))
		kf_buf_printf(out, ": %.3g times as fast", v->speedup.ratio);
	if (!isnan(v->speedup.low))
		kf_buf_printf(out, " (95 %% interval %.3g to %.3g, %zu "
			      "blocks)", v->speedup.low, v->speedup.high,
			      v->speedup.block_count);
	if (worst < v->shape_count)
		kf_buf_printf(out, "; worst %.3g (%s)",
			      v->shape[worst].speedup.ratio,
			      v->shape[worst].name);
	kf_buf_puts(out, "\n");
	say_baseline(v->baseline_about, out);
	if (!v->conclusive)
		kf_buf_puts(out, "      not conclusive: the interval is wide, "
			    "the time is too short to measure well, or the "
			    "program could make it look shorter\n");
}

static void say_took(const struct kf_verdict *v, struct kf_buf *out)
{
	static const char *const before[] = { "", ", compiler ",
		", candidate ", ", baseline ", ", kforge " };
	const uint64_t took[] = { v->took_ns, v->compiler_ns, v->candidate_ns,
		v->baseline_took_ns, v->ours_ns };

	kf_buf_puts(out, "judging took ");
	for (size_t i = 0; i < KF_COUNT(took); i++) {
		kf_buf_puts(out, before[i]);
		say_time((double)took[i], out);
	}
	kf_buf_printf(out, "; %u calls\n", v->call_count);
}

static void say_notes(const struct kf_verdict *v, struct kf_buf *out)
{
	json_t *notes = json_object_get(v->evidence, "notes"), *note;
	size_t i;

	json_array_foreach(notes, i, note)
		kf_buf_printf(out, "note: %s\n", json_string_value(note));
}

void kf_verdict_explain(const struct kf_verdict *v, struct kf_buf *out)
{
	kf_buf_puts(out, v->state == KF_STATE_NONE &&
		    v->reached == KF_REACH_BUILD ?
		    "it compiles; nothing else was looked at" :
		    kf_state_name(v->state));
	if (v->reason[0])
		kf_buf_printf(out, ": %s", v->reason);
	kf_buf_puts(out, "\n");
	if (v->text.len)
		kf_buf_printf(out, "%s%s", kf_buf_str(&v->text),
			      v->text.data[v->text.len - 1] == '\n' ? "" :
			      "\n");
	if (v->state == KF_CORRECT && v->reached == KF_REACH_TIME)
		say_speedup(v, out);
	if (v->state == KF_CORRECT || v->state == KF_MISMATCH)
		kf_buf_printf(out, "KernelBench's own rule: %s\n",
			      v->kernelbench_good ? "passes" : "fails");
	if (v->unhealthy[0])
		kf_buf_printf(out, "the problem is unhealthy: %s\n",
			      v->unhealthy_text);
	if (v->tier != KF_TIER_NONE)
		kf_buf_printf(out, "trust: %s, sandbox %s\n", v->in_process ?
			      "in-process" : "isolated",
			      kf_sandbox_tier_name(v->tier));
	if (v->libraries) {
		kf_buf_puts(out, "libraries: ");
		kf_libraries_words(v->libraries, out);
		kf_buf_puts(out, "\n");
	}
	say_notes(v, out);
	if (v->took_ns)
		say_took(v, out);
}
