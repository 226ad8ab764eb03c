#include "problem/preset.h"

#include "problem/rewrite.h"

#define MARK "# kforge: size "
#define LISTED_BYTES 400	/* of names in a sentence */

/* The next word of a line, or NULL at its end. Caller frees. */
static char *next_word(const char **at)
{
	const char *word = *at + strspn(*at, " \t\r");
	size_t len = strcspn(word, " \t\r\n");

	*at = word + len;
	return len ? kf_strndup(word, len) : NULL;
}

/* Behind the mark of the next preset from *at on, which moves to its line's
 * end; NULL if there is none. */
static const char *next_preset(const char **at)
{
	while (**at) {
		const char *line = *at;

		*at += strcspn(line, "\n");
		*at += **at == '\n';
		if (strncmp(line, MARK, strlen(MARK)) == 0)
			return line + strlen(MARK);
	}
	return NULL;
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

static enum kf_code apply_line(char **source, const char *rest,
			       struct kf_err *err)
{
	enum kf_code code = KF_OK;
	char *set;

	while (!code && (set = next_word(&rest))) {
		char *changed = NULL;

		code = kf_rewrite(*source, set, &changed, err);
		if (!code) {
			free(*source);
			*source = changed;
		}
		free(set);
	}
	return code;
}

enum kf_code kf_preset_apply(char **source, const char *name,
			     struct kf_err *err)
{
	char *text = kf_strdup(*source);
	enum kf_code code = KF_OK;
	const char *at = text, *rest;
	bool found = false;

	while (!found && (rest = next_preset(&at))) {
		char *word = next_word(&rest);

		found = word && strcmp(word, name) == 0;
		if (found)
			code = apply_line(source, rest, err);
		free(word);
	}
	if (!found)
		code = fail_unknown(text, name, err);
	free(text);
	return code;
}

json_t *kf_preset_list(const char *source)
{
	json_t *list = json_object();
	const char *rest;

	while ((rest = next_preset(&source))) {
		char *name = next_word(&rest), *set;
		json_t *sizes = json_object();

		while (name && (set = next_word(&rest))) {
			char *value = strchr(set, '=');

			if (value) {
				*value = '\0';
				json_object_set_new(sizes, set, kf_json_string(
					value + 1, strlen(value + 1)));
			}
			free(set);
		}
		if (name)
			json_object_set(list, name, sizes);
		json_decref(sizes);
		free(name);
	}
	return list;
}
