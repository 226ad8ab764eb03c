/* What any tool may print: CSV or JSON with name, value, unit, kernel. */
#include "profile/read.h"

#include "profile/csv.h"

static void take(struct kf_profile *out, const char *kernel, const char *name,
		 double value, const char *unit)
{
	const struct kf_metric_about *about = kf_metric_about(name);
	const char *shared = kf_metric_unit(unit, &value);

	if (!unit[0] && about)
		shared = about->unit;
	kf_metrics_add(&out->metrics, kernel, name, value, shared);
	if (kernel[0] && strcmp(name, "time") == 0) {
		struct kf_profile_kernel *k = kf_profile_add_kernel(out,
								    kernel);

		if (k)
			k->time_ns = value;
	}
}

static void tell_missing(struct kf_profile *out, const char *name)
{
	if (name[0])
		kf_profile_add_missing(out, name, "the tool gave no number "
				       "for it");
}

/* --- CSV ------------------------------------------------------------------ */

static void take_line(struct kf_profile *out, const struct kf_csv *header,
		      const struct kf_csv *line)
{
	const char *name = kf_csv_field(line, kf_csv_column(header, "name"));
	const char *field = kf_csv_field(line, kf_csv_column(header, "value"));
	double value;

	if (name[0] && kf_csv_number(field, &value))
		take(out, kf_csv_field(line, kf_csv_column(header, "kernel")),
		     name, value,
		     kf_csv_field(line, kf_csv_column(header, "unit")));
	else
		tell_missing(out, name);
}

static bool is_header(const struct kf_csv *line)
{
	return kf_csv_column(line, "name") < KF_CSV_FIELDS &&
		kf_csv_column(line, "value") < KF_CSV_FIELDS;
}

static bool read_csv(const struct kf_profile_bytes *b, struct kf_profile *out)
{
	struct kf_csv header = { 0 }, line = { 0 };
	bool found = false;
	size_t at = 0;

	while (kf_csv_next(&line, b->text, b->len, &at, ','))
		if (!found && is_header(&line)) {
			header = line;
			line = (struct kf_csv) { 0 };
			found = true;
		} else if (found) {
			take_line(out, &header, &line);
		}
	kf_csv_release(&header);
	kf_csv_release(&line);
	return found;
}

/* --- JSON ----------------------------------------------------------------- */

static void take_member(struct kf_profile *out, const char *name,
			const json_t *value, const char *unit,
			const char *kernel)
{
	if (json_is_number(value))
		take(out, kernel, name, json_number_value(value), unit);
	else
		tell_missing(out, name);
}

static bool take_json(const json_t *json, struct kf_profile *out)
{
	const json_t *list = json_is_object(json) ?
		json_object_get(json, "metrics") : json;
	const char *name;
	json_t *value;
	size_t i;

	if (json_is_array(list)) {
		json_array_foreach(list, i, value)
			take_member(out, kf_json_str(value, "name", ""),
				    json_object_get(value, "value"),
				    kf_json_str(value, "unit", ""),
				    kf_json_str(value, "kernel", ""));
		return true;
	}
	json_object_foreach((json_t *)(uintptr_t)json, name, value)
		take_member(out, name, value, "", "");
	return json_is_object(json);
}

/* From where the JSON begins: before it there may be noise. */
static bool read_json(const struct kf_profile_bytes *b, struct kf_profile *out)
{
	bool at_start = true, found = false;

	for (size_t i = 0; i < b->len && !found; i++) {
		json_t *json = NULL;

		if (at_start && (b->text[i] == '{' || b->text[i] == '[') &&
		    !kf_json_parse(b->text + i, b->len - i, "the tool's output",
				   &json, NULL)) {
			found = take_json(json, out);
			json_decref(json);
		}
		at_start = b->text[i] == '\n' ||
			(at_start && (b->text[i] == ' ' ||
				      b->text[i] == '\t'));
	}
	return found;
}

void kf_read_table(const struct kf_profile_bytes *bytes, struct kf_profile *out)
{
	bool understood = read_json(bytes, out) || read_csv(bytes, out);

	kf_profile_share_times(out);
	if (!understood)
		out->end = bytes->len ? KF_PROFILE_FORMAT : KF_PROFILE_EMPTY;
	else if (!out->metrics.count)
		out->end = KF_PROFILE_EMPTY;
	else
		out->end = out->missing_count ? KF_PROFILE_PARTIAL :
			KF_PROFILE_GOOD;
}
