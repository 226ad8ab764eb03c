#include "base/json.h"

#include <math.h>

#define KF_JSON_BYTES (64u << 20)

enum kf_code kf_json_parse(const char *text, size_t len, const char *what,
			   json_t **out, struct kf_err *err)
{
	json_error_t where;

	*out = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY,
			  &where);
	if (!*out)
		return kf_fail(err, KF_E_INPUT,
			       "%s is not valid JSON: line %d, column %d: %s",
			       what, where.line, where.column, where.text);
	return KF_OK;
}

enum kf_code kf_json_read(const char *path, json_t **out, struct kf_err *err)
{
	struct kf_buf text = { .max = KF_JSON_BYTES };
	enum kf_code code;

	*out = NULL;
	code = kf_file_read(path, &text, err);
	if (!code)
		code = kf_json_parse(kf_buf_str(&text), text.len, path, out,
				     err);
	kf_buf_release(&text);
	return code;
}

static char *dump(const json_t *value, size_t flags)
{
	char *text = json_dumps(value, flags | JSON_ENCODE_ANY |
				JSON_REAL_PRECISION(17));

	if (!text)
		abort();
	return text;
}

enum kf_code kf_json_write(const char *path, const json_t *value,
			   struct kf_err *err)
{
	char *text = dump(value, JSON_INDENT(2));
	char *line = kf_format("%s\n", text);
	enum kf_code code = kf_file_write(path, line, strlen(line), err);

	free(line);
	free(text);
	return code;
}

char *kf_json_text(const json_t *value)
{
	return dump(value, JSON_COMPACT);
}

const char *kf_json_str(const json_t *object, const char *key,
			const char *otherwise)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : otherwise;
}

int64_t kf_json_int(const json_t *object, const char *key, int64_t otherwise)
{
	const json_t *value = json_object_get(object, key);

	return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

double kf_json_real(const json_t *object, const char *key, double otherwise)
{
	const json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : otherwise;
}

bool kf_json_bool(const json_t *object, const char *key, bool otherwise)
{
	const json_t *value = json_object_get(object, key);

	return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

json_t *kf_json_number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

json_t *kf_json_string(const char *bytes, size_t len)
{
	struct kf_buf clean = { .max = len * 3 + 1 };
	json_t *value;

	kf_utf8_clean(bytes, len, &clean);
	value = json_string(kf_buf_str(&clean));
	kf_buf_release(&clean);
	return value;
}
