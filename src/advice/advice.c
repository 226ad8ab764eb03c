#include "advice/advice.h"

#include <math.h>

static const char *const source_name[KF_ADVICE_SOURCES] = {
	[KF_ADVICE_NONE] = "none",
	[KF_ADVICE_MODEL] = "model",
	[KF_ADVICE_MODEL_AGAIN] = "model again",
	[KF_ADVICE_RULES] = "rules",
};

const char *kf_advice_source_name(enum kf_advice_source source)
{
	return source_name[source];
}

void kf_advice_release(struct kf_advice *advice)
{
	for (size_t i = 0; i < advice->evidence_count; i++) {
		free(advice->evidence[i].counter);
		free(advice->evidence[i].kernel);
		free(advice->evidence[i].line);
	}
	free(advice->change);
	free(advice->keep);
	free(advice->algorithm);
	*advice = (struct kf_advice) { .expected_gain = (double)NAN };
}

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static json_t *text(const char *words)
{
	return words ? kf_json_string(words, strlen(words)) : json_null();
}

json_t *kf_advice_to_json(const struct kf_advice *advice)
{
	json_t *o = json_object(), *list = json_array();

	for (size_t i = 0; i < advice->evidence_count; i++) {
		const struct kf_advice_evidence *e = &advice->evidence[i];
		json_t *entry = json_object();

		set(entry, "counter", text(e->counter));
		set(entry, "kernel", text(e->kernel));
		set(entry, "value", kf_json_number(e->value));
		set(entry, "line", text(e->line));
		json_array_append_new(list, entry);
	}
	set(o, "source", json_string(source_name[advice->source]));
	set(o, "bottleneck", json_string(kf_profile_class_name(
						advice->bottleneck)));
	set(o, "evidence", list);
	set(o, "change", text(advice->change));
	set(o, "expected_gain", kf_json_number(advice->expected_gain));
	set(o, "keep", text(advice->keep ? advice->keep : ""));
	set(o, "algorithm", text(advice->algorithm ? advice->algorithm : ""));
	return o;
}
