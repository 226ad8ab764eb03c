#include "problem/preset.h"

#include "problem/rewrite.h"

#define MARK "# kforge: size "
#define BLANK " \t\r"
#define LISTED_BYTES 400	/* of names in a sentence */

struct preset {
	char *name;		/* owned */
	const char *rest;	/* of its line: the assignments */
};

/* The next word of a line, or NULL at its end. Caller frees. */
static char *next_word(const char **at)
{
	const char *word = *at + strspn(*at, BLANK);
	size_t len = strcspn(word, BLANK "\n");

	*at = word + len;
	return len ? kf_strndup(word, len) : NULL;
}

/* The next preset from *at on, which moves behind its line. A line inside of
 * a string is none. */
static bool next_preset(const char **at, struct preset *out)
{
	while (**at) {
		const char *line = *at;

		*at = kf_rewrite_after_line(line);
		if (strncmp(line, MARK, strlen(MARK)) != 0)
			continue;
		out->rest = line + strlen(MARK);
		out->name = next_word(&out->rest);
		if (out->name)
			return true;
	}
	return false;
}

static enum kf_code fail_unknown(const char *source, const char *name,
				 struct kf_err *err)
{
	struct kf_buf names = { .max = LISTED_BYTES };
	json_t *list = kf_preset_list(source), *sizes;
	enum kf_code code;
	const char *key;

	json_object_foreach(list, key, sizes)
		kf_buf_printf(&names, "%s%s", names.len ? ", " : "", key);
	if (names.len)
		code = kf_fail(err, KF_E_INPUT, "--size: the problem has no "
			       "preset %s; it has %s", name,
			       kf_buf_str(&names));
	else
		code = kf_fail(err, KF_E_INPUT, "--size %s: the problem has "
			       "no presets; change sizes with --set", name);
	kf_buf_release(&names);
	json_decref(list);
	return code;
}

/* The assignments of the one preset of that name; NULL on failure. */
static const char *find(const char *source, const char *name,
			struct kf_err *err)
{
	const char *at = source, *rest = NULL;
	struct preset preset;
	size_t count = 0;

	while (next_preset(&at, &preset)) {
		if (strcmp(preset.name, name) == 0) {
			rest = preset.rest;
			count++;
		}
		free(preset.name);
	}
	if (count == 1)
		return rest;
	if (!count)
		fail_unknown(source, name, err);
	else
		kf_fail(err, KF_E_INPUT, "--size: the problem has %zu presets "
			"%s", count, name);
	return NULL;
}

enum kf_code kf_preset_apply(char **source, const char *name,
			     struct kf_err *err)
{
	char *text = kf_strdup(*source), *set;
	char *by = kf_format("preset %s", name);
	const char *rest = find(text, name, err);
	enum kf_code code = rest ? KF_OK : KF_E_INPUT;
	size_t count = 0;

	while (!code && (set = next_word(&rest))) {
		char *changed = NULL;

		code = kf_rewrite(*source, set, by, &changed, err);
		if (!code) {
			free(*source);
			*source = changed;
		}
		free(set);
		count++;
	}
	if (!code && !count)
		code = kf_fail(err, KF_E_INPUT, "%s: its line assigns nothing; "
			       "NAME=VALUE is wanted", by);
	free(by);
	free(text);
	return code;
}

json_t *kf_preset_list(const char *source)
{
	json_t *list = json_object();
	struct preset preset;
	char *set;

	while (next_preset(&source, &preset)) {
		json_t *sizes = json_object();

		while ((set = next_word(&preset.rest))) {
			char *value = strchr(set, '=');

			if (value) {
				*value = '\0';
				json_object_set_new(sizes, set, kf_json_string(
					value + 1, strlen(value + 1)));
			}
			free(set);
		}
		json_object_set_new(list, preset.name, sizes);
		free(preset.name);
	}
	return list;
}
