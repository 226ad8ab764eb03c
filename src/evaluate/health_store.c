/* Health as JSON, kept beside the bundle that it is about. */
#include "evaluate/health.h"

#include <math.h>

static void copy_text(char *out, size_t size, const char *text)
{
	size_t len = strlen(text);

	if (len > size - 1)
		len = kf_utf8_cut(text, size - 1);
	memcpy(out, text, len);
	out[len] = '\0';
}

bool kf_health_of_refusal(const struct kf_refusal *refusal,
			  const char *sentence, struct kf_health *out)
{
	static const char *const kind[] = {
		"random", "nondeterministic", "non_finite",
	};

	*out = (struct kf_health) { 0 };
	for (size_t i = 0; i < KF_COUNT(kind); i++) {
		if (strcmp(refusal->kind, kind[i]) != 0)
			continue;
		*out = (struct kf_health) {
			.complete = true,
			.notes = json_array(), .kernelbench = json_array(),
			.magnitude = (double)NAN,
			.between_seeds = (double)NAN,
		};
		snprintf(out->reason, sizeof(out->reason), "%s", kind[i]);
		copy_text(out->text, sizeof(out->text), sentence);
		return true;
	}
	return false;
}

json_t *kf_health_to_json(const struct kf_health *health)
{
	json_t *object = json_pack("{s:i, s:b, s:b, s:s, s:o, s:O, s:O}",
				   "version", KF_HEALTH_VERSION,
				   "healthy", (int)health->healthy,
				   "complete", (int)health->complete,
				   "reason", health->reason,
				   "text", kf_json_string(health->text,
						strlen(health->text)),
				   "notes", health->notes,
				   "kernelbench", health->kernelbench);

	json_object_set_new(object, "magnitude",
			    kf_json_number(health->magnitude));
	json_object_set_new(object, "between_seeds",
			    kf_json_number(health->between_seeds));
	json_object_set_new(object, "took_ns",
			    json_integer((json_int_t)health->took_ns));
	return object;
}

static json_t *strings_of(const json_t *object, const char *member)
{
	const json_t *list = json_object_get(object, member), *text;
	json_t *out = json_array();
	size_t i;

	json_array_foreach(list, i, text) {
		if (json_is_string(text))
			json_array_append_new(out,
				json_string(json_string_value(text)));
	}
	return out;
}

bool kf_health_from_json(const json_t *json, struct kf_health *out)
{
	*out = (struct kf_health) { 0 };
	if (kf_json_int(json, "version", 0) != KF_HEALTH_VERSION ||
	    !json_is_boolean(json_object_get(json, "healthy")))
		return false;
	out->healthy = kf_json_bool(json, "healthy", false);
	out->complete = kf_json_bool(json, "complete", false);
	snprintf(out->reason, sizeof(out->reason), "%s",
		 kf_json_str(json, "reason", ""));
	copy_text(out->text, sizeof(out->text),
		  kf_json_str(json, "text", ""));
	out->notes = strings_of(json, "notes");
	out->kernelbench = strings_of(json, "kernelbench");
	out->magnitude = kf_json_real(json, "magnitude", (double)NAN);
	out->between_seeds = kf_json_real(json, "between_seeds",
					  (double)NAN);
	out->took_ns = (uint64_t)kf_json_int(json, "took_ns", 0);
	return true;
}

static char *path_of(const char *place)
{
	return kf_format("%s.health.json", place);
}

bool kf_health_stored(const char *place, struct kf_health *out)
{
	char *path = path_of(place);
	json_t *json = NULL;
	bool found;

	*out = (struct kf_health) { 0 };
	found = kf_path_exists(path) &&
		kf_json_read(path, &json, NULL) == KF_OK &&
		kf_health_from_json(json, out);
	json_decref(json);
	free(path);
	return found;
}

void kf_health_store(const char *place, const struct kf_health *health)
{
	char *path;
	json_t *json;

	if (!health->complete)
		return;
	path = path_of(place);
	json = kf_health_to_json(health);
	/* Not being able to keep it costs a check the next time. */
	(void)kf_json_write(path, json, NULL);
	json_decref(json);
	free(path);
}

enum kf_code kf_health_open(const struct kf_bundle *bundle,
			    const struct kf_health_limits *limits,
			    struct kf_health *out, struct kf_err *err)
{
	enum kf_code code;

	if (bundle->place && kf_health_stored(bundle->place, out))
		return KF_OK;
	code = kf_health_check(bundle, limits, out, err);
	if (!code && bundle->place)
		kf_health_store(bundle->place, out);
	return code;
}
