/* Profiles and rooflines as stores keep them. */
#include "profile/read.h"

#include <math.h>

static json_t *text(const char *bytes)
{
	return kf_json_string(bytes ? bytes : "", bytes ? strlen(bytes) : 0);
}

/* --- out ------------------------------------------------------------------ */

static json_t *metrics_json(const struct kf_metrics *metrics)
{
	json_t *list = json_array();

	for (size_t i = 0; i < metrics->count; i++) {
		const struct kf_metric *m = &metrics->metric[i];
		json_t *one = json_object();

		if (m->kernel[0])
			json_object_set_new(one, "kernel", text(m->kernel));
		json_object_set_new(one, "name", text(m->name));
		json_object_set_new(one, "value", kf_json_number(m->value));
		json_object_set_new(one, "unit", text(m->unit));
		json_array_append_new(list, one);
	}
	return list;
}

static json_t *kernels_json(const struct kf_profile *profile)
{
	json_t *list = json_array();

	for (size_t i = 0; i < profile->kernel_count; i++) {
		const struct kf_profile_kernel *k = &profile->kernel[i];
		json_t *one = json_object();

		json_object_set_new(one, "name", text(k->name));
		json_object_set_new(one, "share", kf_json_number(k->share));
		json_object_set_new(one, "time_ns", kf_json_number(k->time_ns));
		json_object_set_new(one, "launches", k->launches ?
				    json_integer(k->launches) : json_null());
		json_array_append_new(list, one);
	}
	return list;
}

static json_t *missing_json(const struct kf_profile *profile)
{
	json_t *list = json_array();

	for (size_t i = 0; i < profile->missing_count; i++) {
		json_t *one = json_object();

		json_object_set_new(one, "what",
				    text(profile->missing[i].what));
		json_object_set_new(one, "why",
				    text(profile->missing[i].why));
		json_array_append_new(list, one);
	}
	return list;
}

json_t *kf_profile_json(const struct kf_profile *profile)
{
	json_t *json = json_object(), *pictures = json_array();

	for (size_t i = 0; i < profile->picture_count; i++)
		json_array_append_new(pictures, text(profile->picture[i]));
	json_object_set_new(json, "end",
			    json_string(kf_profile_end_name(profile->end)));
	json_object_set_new(json, "source", text(profile->source));
	json_object_set_new(json, "calls", json_integer(profile->call_count));
	json_object_set_new(json, "share_of", json_string(profile->share_of));
	json_object_set_new(json, "kernels", kernels_json(profile));
	json_object_set_new(json, "metrics", metrics_json(&profile->metrics));
	json_object_set_new(json, "missing", missing_json(profile));
	json_object_set_new(json, "pictures", pictures);
	json_object_set_new(json, "raw", profile->raw_path ?
			    text(profile->raw_path) : json_null());
	return json;
}

/* --- and back ------------------------------------------------------------- */

static void take_metrics(const json_t *list, struct kf_metrics *out)
{
	json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
		kf_metrics_add(out, kf_json_str(one, "kernel", ""),
			       kf_json_str(one, "name", ""),
			       kf_json_real(one, "value", (double)NAN),
			       kf_json_str(one, "unit", ""));
}

static void take_kernels(const json_t *list, struct kf_profile *out)
{
	json_t *one;
	size_t i;

	json_array_foreach(list, i, one) {
		struct kf_profile_kernel *k = kf_profile_add_kernel(out,
				kf_json_str(one, "name", ""));
		int64_t launches = kf_json_int(one, "launches", 0);

		if (!k)
			return;
		k->share = kf_json_real(one, "share", (double)NAN);
		k->time_ns = kf_json_real(one, "time_ns", (double)NAN);
		if (launches > 0 && launches <= UINT32_MAX)
			k->launches = (unsigned)launches;
	}
}

static void take_rest(const json_t *json, struct kf_profile *out)
{
	const char *raw = kf_json_str(json, "raw", NULL);
	int64_t calls = kf_json_int(json, "calls", 0);
	json_t *one;
	size_t i;

	json_array_foreach(json_object_get(json, "missing"), i, one)
		kf_profile_add_missing(out, kf_json_str(one, "what", ""),
				       kf_json_str(one, "why", ""));
	json_array_foreach(json_object_get(json, "pictures"), i, one)
		if (json_is_string(one))
			kf_profile_add_picture(out, json_string_value(one));
	out->raw_path = kf_strdup(raw);
	if (calls > 0 && calls <= UINT32_MAX)
		out->call_count = (unsigned)calls;
	snprintf(out->share_of, sizeof(out->share_of), "%.15s",
		 kf_json_str(json, "share_of", ""));
	kf_profile_add_source(out, kf_json_str(json, "source", ""));
}

enum kf_code kf_profile_from_json(const json_t *json, struct kf_profile *out,
				  struct kf_err *err)
{
	const char *end = kf_json_str(json, "end", NULL);

	*out = (struct kf_profile) { 0 };
	if (!end || !json_is_array(json_object_get(json, "metrics")))
		return kf_fail(err, KF_E_INPUT, "this is no profile: it has "
			       "no \"end\" or no list of \"metrics\"");
	out->end = kf_profile_end_by_name(end);
	take_metrics(json_object_get(json, "metrics"), &out->metrics);
	take_kernels(json_object_get(json, "kernels"), out);
	take_rest(json, out);
	return KF_OK;
}

/* --- rooflines ------------------------------------------------------------ */

static const struct { const char *name; size_t at; } numbers[] = {
	{ "bytes", offsetof(struct kf_roofline, bytes) },
	{ "flops", offsetof(struct kf_roofline, flops) },
	{ "bytes_per_s", offsetof(struct kf_roofline, bytes_per_s) },
	{ "flops_per_s", offsetof(struct kf_roofline, flops_per_s) },
	{ "matrix_flops_per_s",
	  offsetof(struct kf_roofline, matrix_flops_per_s) },
	{ "cache_bytes", offsetof(struct kf_roofline, cache_bytes) },
	{ "time_ns", offsetof(struct kf_roofline, time_ns) },
	{ "memory_ns", offsetof(struct kf_roofline, memory_ns) },
	{ "compute_ns", offsetof(struct kf_roofline, compute_ns) },
	{ "memory_share", offsetof(struct kf_roofline, memory_share) },
	{ "compute_share", offsetof(struct kf_roofline, compute_share) },
	{ "share", offsetof(struct kf_roofline, share) },
};

static const struct { const char *name; size_t at; } point_numbers[] = {
	{ "time_ns", offsetof(struct kf_roofline_point, time_ns) },
	{ "bytes", offsetof(struct kf_roofline_point, bytes) },
	{ "flops", offsetof(struct kf_roofline_point, flops) },
	{ "share", offsetof(struct kf_roofline_point, share) },
};

static json_t *point_json(const struct kf_roofline_point *point)
{
	json_t *json = json_object();
	double value;

	json_object_set_new(json, "kernel", text(point->kernel));
	for (size_t i = 0; i < KF_COUNT(point_numbers); i++) {
		memcpy(&value, (const char *)point + point_numbers[i].at,
		       sizeof(value));
		json_object_set_new(json, point_numbers[i].name,
				    kf_json_number(value));
	}
	return json;
}

json_t *kf_roofline_json(const struct kf_roofline *roofline)
{
	json_t *json = json_object(), *points = json_array();
	double value;

	for (size_t i = 0; i < KF_COUNT(numbers); i++) {
		memcpy(&value, (const char *)roofline + numbers[i].at,
		       sizeof(value));
		json_object_set_new(json, numbers[i].name,
				    kf_json_number(value));
	}
	for (size_t i = 0; i < roofline->point_count; i++)
		json_array_append_new(points, point_json(&roofline->point[i]));
	json_object_set_new(json, "bound", json_string(
			    kf_profile_class_name(roofline->bound)));
	json_object_set_new(json, "cached", json_boolean(roofline->cached));
	json_object_set_new(json, "kernels", points);
	return json;
}

static void take_point(const json_t *json, struct kf_roofline_point *point)
{
	point->kernel = kf_strdup(kf_json_str(json, "kernel", ""));
	for (size_t i = 0; i < KF_COUNT(point_numbers); i++) {
		double value = kf_json_real(json, point_numbers[i].name,
					    (double)NAN);

		memcpy((char *)point + point_numbers[i].at, &value,
		       sizeof(value));
	}
}

enum kf_code kf_roofline_from_json(const json_t *json, struct kf_roofline *out,
				   struct kf_err *err)
{
	const json_t *points = json_object_get(json, "kernels");

	*out = (struct kf_roofline) { 0 };
	if (!json_is_string(json_object_get(json, "bound")))
		return kf_fail(err, KF_E_INPUT,
			       "this is no roofline: it has no \"bound\"");
	for (size_t i = 0; i < KF_COUNT(numbers); i++) {
		double value = kf_json_real(json, numbers[i].name,
					    (double)NAN);

		memcpy((char *)out + numbers[i].at, &value, sizeof(value));
	}
	out->bound = kf_profile_class_by_name(kf_json_str(json, "bound", ""));
	out->cached = kf_json_bool(json, "cached", false);
	out->point = kf_alloc((json_array_size(points) + 1) *
			      sizeof(out->point[0]));
	for (size_t i = 0; i < json_array_size(points) &&
	     i < KF_PROFILE_KERNELS_MAX; i++)
		take_point(json_array_get(points, i),
			   &out->point[out->point_count++]);
	return KF_OK;
}
