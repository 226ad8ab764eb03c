#include "problem/cast.h"

#include "problem/rewrite.h"

#define MARK "# kforge: dtype "
#define BLANK " \t\r"

/* The name in the one line that asks; len 0: there is none. */
struct place { const char *name; size_t len; };

static enum kf_code find(const char *source, struct place *out,
			 struct kf_err *err)
{
	*out = (struct place) { 0 };
	while (*source) {
		const char *line = source;

		source = kf_rewrite_after_line(line);
		if (strncmp(line, MARK, strlen(MARK)) != 0)
			continue;
		if (out->name)
			return kf_fail(err, KF_E_INPUT, "the problem has two "
				       "lines `" MARK "...`; one is wanted");
		out->name = line + strlen(MARK);
		out->name += strspn(out->name, BLANK);
		out->len = strcspn(out->name, BLANK "\n");
	}
	return KF_OK;
}

static bool is_floating(enum kf_dtype dtype)
{
	return dtype == KF_F16 || dtype == KF_BF16 || dtype == KF_F32 ||
	       dtype == KF_F64;
}

enum kf_code kf_cast_line_get(const char *source, enum kf_dtype *out,
			      struct kf_err *err)
{
	struct place place;
	enum kf_code code = find(source, &place, err);
	char *name;

	*out = KF_DTYPE_NONE;
	if (code || !place.name)
		return code;
	name = kf_strndup(place.name, place.len);
	*out = kf_dtype_by_name(name);
	if (!is_floating(*out))
		code = kf_fail(err, KF_E_INPUT, "the problem's line `" MARK
			       "%s`: float64, float32, float16 or bfloat16 is "
			       "wanted", name);
	free(name);
	return code;
}

enum kf_code kf_cast_line_set(char **source, enum kf_dtype dtype,
			      struct kf_err *err)
{
	const char *text = *source, *name = kf_dtype_name(dtype);
	size_t len = strlen(text);
	enum kf_dtype before;
	struct place place;
	enum kf_code code = kf_cast_line_get(text, &before, err);
	char *changed;

	if (code || !dtype)
		return code;
	code = find(text, &place, err);
	if (code)
		return code;
	if (place.name)
		changed = kf_format("%.*s%s%s", (int)(place.name - text), text,
				    name, place.name + place.len);
	else
		changed = kf_format("%s%s" MARK "%s\n", text,
				    len && text[len - 1] == '\n' ? "" : "\n",
				    name);
	free(*source);
	*source = changed;
	return KF_OK;
}
