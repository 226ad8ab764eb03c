#include "loop/settings.h"

#include <math.h>

#include "profile/profile.h"

#define SETTINGS_VERSION 1

static json_t *string_list(const char *const *text, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, json_string(text[i]));
	return list;
}

static void set_string(json_t *object, const char *key, const char *text)
{
	if (text)
		json_object_set_new(object, key, json_string(text));
}

static void set_count(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, json_integer((json_int_t)value));
}

static json_t *hidden_to_json(unsigned sets)
{
	json_t *list = json_array();

	for (unsigned set = 0; set < KF_METRIC_SETS; set++)
		if (sets >> set & 1)
			json_array_append_new(list, json_string(
				kf_metric_set_name((enum kf_metric_set)set)));
	return list;
}

static unsigned hidden_from_json(const json_t *list)
{
	const json_t *name;
	unsigned sets = 0;
	size_t i;

	json_array_foreach(list, i, name)
		if (json_is_string(name))
			sets |= 1u << kf_metric_set_by_name(
					json_string_value(name));
	return sets;
}

json_t *kf_settings_from_spec(const struct kf_run_spec *spec)
{
	const struct kf_setup_spec *setup = &spec->setup;
	json_t *s = json_object();

	set_count(s, "settings_version", SETTINGS_VERSION);
	json_object_set_new(s, "problems", string_list(spec->problem,
						       spec->problem_count));
	json_object_set_new(s, "set", string_list(setup->set,
						  setup->set_count));
	set_string(s, "size", setup->size);
	if (setup->shapes)
		json_object_set_new(s, "shapes",
				    json_deep_copy(setup->shapes));
	if (setup->dtype)
		set_string(s, "dtype", kf_dtype_name(setup->dtype));
	json_object_set_new(s, "start", string_list(spec->start,
						    spec->start_count));
	set_string(s, "platform", setup->platform);
	set_string(s, "form", setup->form);
	set_string(s, "python", setup->python);
	set_string(s, "cache", setup->cache_path);
	set_count(s, "threads", setup->threads);
	set_count(s, "sandbox", (uint64_t)setup->tier_min);
	set_count(s, "baseline", (uint64_t)setup->baseline);
	set_string(s, "away", setup->away);
	set_string(s, "model", spec->model);
	set_string(s, "advisor", spec->advisor);
	json_object_set_new(s, "advisor_sees",
			    json_boolean(spec->advisor_sees));
	set_string(s, "profile", spec->profile);
	json_object_set_new(s, "hide", hidden_to_json(spec->profile_hidden));
	set_string(s, "record", spec->record_path);
	set_string(s, "prompts", spec->prompts_dir);
	set_count(s, "attempts", spec->attempt_max);
	json_object_set_new(s, "target", kf_json_number(spec->target_speedup));
	json_object_set_new(s, "temperature",
			    kf_json_number(spec->temperature));
	set_count(s, "max_tokens", spec->token_max);
	set_count(s, "budget_tokens", spec->budget_tokens);
	set_count(s, "ask_timeout_ns", spec->ask_timeout_ns);
	set_count(s, "rules", (uint64_t)spec->rules);
	set_count(s, "libraries", (uint64_t)spec->libraries);
	set_count(s, "seed", spec->seed);
	set_count(s, "calls", spec->call_count_fixed);
	json_object_set_new(s, "force", json_boolean(spec->force));
	set_count(s, "rejudge", spec->rejudge_count);
	return s;
}

/* A list of strings by key; the array is the caller's. */
static const char **read_list(const json_t *object, const char *key,
			      size_t *count)
{
	const json_t *list = json_object_get(object, key);
	const char **out = kf_alloc(json_array_size(list) * sizeof(*out));

	*count = json_array_size(list);
	for (size_t i = 0; i < *count; i++) {
		const char *text = json_string_value(json_array_get(list, i));

		out[i] = text ? text : "";
	}
	return out;
}

static uint64_t read_count(const json_t *object, const char *key)
{
	return (uint64_t)kf_json_int(object, key, 0);
}

enum kf_code kf_settings_to_spec(const json_t *s, struct kf_settings *out,
				 struct kf_err *err)
{
	struct kf_run_spec *spec = &out->spec;
	struct kf_setup_spec *setup = &out->spec.setup;
	int64_t version = kf_json_int(s, "settings_version", 0);

	*out = (struct kf_settings) { 0 };
	if (version != SETTINGS_VERSION)
		return kf_fail(err, KF_E_INPUT,
			       "this run's settings have version %lld, and "
			       "this kforge reads version %d: resume it with "
			       "the kforge that began it", (long long)version,
			       SETTINGS_VERSION);
	out->problem = read_list(s, "problems", &spec->problem_count);
	out->set = read_list(s, "set", &setup->set_count);
	out->start = read_list(s, "start", &spec->start_count);
	spec->problem = out->problem;
	spec->start = out->start;
	setup->set = out->set;
	setup->size = kf_json_str(s, "size", NULL);
	setup->shapes = json_object_get(s, "shapes");
	setup->dtype = kf_dtype_by_name(kf_json_str(s, "dtype", ""));
	setup->platform = kf_json_str(s, "platform", "");
	setup->form = kf_json_str(s, "form", NULL);
	setup->python = kf_json_str(s, "python", NULL);
	setup->cache_path = kf_json_str(s, "cache", NULL);
	setup->threads = (unsigned)read_count(s, "threads");
	setup->tier_min = (enum kf_sandbox_tier)read_count(s, "sandbox");
	setup->baseline = (enum kf_baseline_use)read_count(s, "baseline");
	setup->away = kf_json_str(s, "away", NULL);
	spec->model = kf_json_str(s, "model", "");
	/* Runs of before had neither. */
	spec->advisor = kf_json_str(s, "advisor", "none");
	spec->advisor_sees = kf_json_bool(s, "advisor_sees", false);
	spec->profile = kf_json_str(s, "profile", "none");
	spec->record_path = kf_json_str(s, "record", NULL);
	spec->prompts_dir = kf_json_str(s, "prompts", NULL);
	spec->profile_hidden = hidden_from_json(json_object_get(s, "hide"));
	spec->attempt_max = (unsigned)read_count(s, "attempts");
	spec->target_speedup = kf_json_real(s, "target", (double)NAN);
	spec->temperature = kf_json_real(s, "temperature", (double)NAN);
	spec->token_max = (unsigned)read_count(s, "max_tokens");
	spec->budget_tokens = read_count(s, "budget_tokens");
	spec->force = kf_json_bool(s, "force", false);
	/* Runs of before judged once. */
	spec->rejudge_count = (unsigned)read_count(s, "rejudge");
	spec->ask_timeout_ns = read_count(s, "ask_timeout_ns");
	spec->rules = (enum kf_rules)read_count(s, "rules");
	spec->libraries = (enum kf_libraries)read_count(s, "libraries");
	spec->seed = read_count(s, "seed");
	spec->call_count_fixed = (unsigned)read_count(s, "calls");
	return KF_OK;
}

void kf_settings_release(struct kf_settings *settings)
{
	free(settings->problem);
	free(settings->set);
	free(settings->start);
	*settings = (struct kf_settings) { 0 };
}

enum kf_code kf_settings_problem(struct kf_store *store, const json_t *row,
				 const json_t *shape, struct kf_problem *out,
				 struct kf_err *err)
{
	const json_t *info = json_object_get(row, "info");
	struct kf_buf text = { .max = KF_REPLY_BYTES };
	enum kf_code code;

	code = kf_store_get(store, kf_json_str(shape ? shape : info, "source",
					       ""), &text, err);
	*out = (struct kf_problem) {
		.kind = kf_problem_kind_by_name(kf_json_str(info, "kind", "")),
		.path = kf_strdup(kf_json_str(info, "path", "")),
		.name = kf_strdup(kf_json_str(row, "name", "")),
		.source = kf_strdup(kf_buf_str(&text)),
		.shape = kf_strdup(kf_json_str(shape, "name", NULL)),
	};
	snprintf(out->hash, sizeof(out->hash), "%s",
		 kf_json_str(shape ? shape : row, "hash", ""));
	kf_buf_release(&text);
	return code;
}
