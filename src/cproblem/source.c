/* A folder and choices of sizes, as the one text that names the problem. */
#include "cproblem/cproblem.h"

#include <errno.h>

#define JSON_BYTES (256u << 10)
#define CODE_BYTES (1u << 20)
#define LISTED_BYTES 300	/* of names in a sentence */

/* No line of JSON text begins like these, so the text can be divided again. */
#define HEAD_JSON "// " KF_CPROBLEM_JSON "\n"
#define HEAD_CODE "\n// " KF_CPROBLEM_CODE "\n"

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool names_a_part(const char *path)
{
	return strcmp(last_part(path), KF_CPROBLEM_JSON) == 0 ||
		strcmp(last_part(path), KF_CPROBLEM_CODE) == 0;
}

bool kf_cproblem_claims(const char *path)
{
	char *inside = kf_path_join(path, KF_CPROBLEM_JSON);
	bool there = names_a_part(path) ||
		(kf_path_is_dir(path) && kf_path_exists(inside));

	free(inside);
	return there;
}

/* The folder, from itself or one of its two files. Caller frees. */
static char *folder_of(const char *path)
{
	const char *last = last_part(path);

	if (!names_a_part(path) || kf_path_is_dir(path))
		return kf_strdup(path);
	return last == path ? kf_strdup(".") :
		kf_strndup(path, (size_t)(last - path));
}

/* "softmax", also of "." and "softmax/". */
static char *name_of(const char *folder)
{
	char *real = realpath(folder, NULL), *dotted, *name;

	/* What stands behind a dot in a folder's name is no extension. */
	dotted = kf_format("%s.x", real ? real : folder);
	name = kf_problem_name(dotted);
	free(dotted);
	free(real);
	return name;
}

/* --- files --------------------------------------------------------------- */

static enum kf_code read_json(const char *folder, char **path, json_t **out,
			      struct kf_err *err)
{
	struct kf_buf text = { .max = JSON_BYTES };
	enum kf_code code;

	*out = NULL;
	*path = kf_path_join(folder, KF_CPROBLEM_JSON);
	if (!kf_path_exists(*path))
		code = kf_fail(err, KF_E_INPUT, "cannot read problem %s: %s",
			       *path, strerror(errno));
	else
		code = kf_file_read(*path, &text, err);
	if (code == KF_E_LIMIT)
		code = kf_fail(err, KF_E_INPUT, "%s is larger than %u bytes",
			       *path, JSON_BYTES);
	if (!code)
		code = kf_json_parse(kf_buf_str(&text), text.len, *path, out,
				     err);
	kf_buf_release(&text);
	return code;
}

static enum kf_code read_code(const char *folder, struct kf_buf *out,
			      struct kf_err *err)
{
	char *path = kf_path_join(folder, KF_CPROBLEM_CODE);
	enum kf_code code;
	json_t *utf8 = NULL;

	if (!kf_path_exists(path))
		code = kf_fail(err, KF_E_INPUT, "cannot read %s: %s; a C "
			       "problem needs " KF_CPROBLEM_JSON " and "
			       KF_CPROBLEM_CODE, path, strerror(errno));
	else
		code = kf_file_read(path, out, err);
	if (code == KF_E_LIMIT)
		code = kf_fail(err, KF_E_INPUT, "%s is larger than %u bytes",
			       path, CODE_BYTES);
	if (!code)
		utf8 = json_stringn(kf_buf_str(out), out->len);
	if (!code && (!utf8 || memchr(kf_buf_str(out), '\0', out->len)))
		code = kf_fail(err, KF_E_INPUT, "%s is not a C file in UTF-8",
			       path);
	json_decref(utf8);
	free(path);
	return code;
}

/* --- choices ------------------------------------------------------------- */

static void list_keys(json_t *object, struct kf_buf *out)
{
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value)
		kf_buf_printf(out, "%s%s", out->len ? ", " : "", key);
}

static enum kf_code choose_preset(json_t *json, const char *file,
				  const char *name, struct kf_err *err)
{
	json_t *presets = json_object_get(json, "presets");
	json_t *preset = json_object_get(presets, name);
	struct kf_buf names = { .max = LISTED_BYTES };
	enum kf_code code = KF_OK;

	if (preset) {
		json_object_update(json_object_get(json, "sizes"), preset);
		return KF_OK;
	}
	list_keys(presets, &names);
	code = kf_fail(err, KF_E_INPUT, "--size: %s has no preset %s%s%s",
		       file, name, names.len ? "; it has " :
		       "; change sizes with --set", kf_buf_str(&names));
	kf_buf_release(&names);
	return code;
}

static enum kf_code fail_unknown_size(json_t *sizes, const char *file,
				      const char *name, struct kf_err *err)
{
	struct kf_buf names = { .max = LISTED_BYTES };
	enum kf_code code;

	list_keys(sizes, &names);
	code = kf_fail(err, KF_E_INPUT, "--set: %s has no size %s; it has %s",
		       file, name, names.len ? kf_buf_str(&names) : "none");
	kf_buf_release(&names);
	return code;
}

static enum kf_code choose_size(json_t *json, const char *file,
				const char *set, struct kf_err *err)
{
	json_t *sizes = json_object_get(json, "sizes");
	size_t len = strcspn(set, "=");
	struct kf_err why = { 0 };
	char *name = kf_strndup(set, len);
	enum kf_code code = KF_OK;
	int64_t value = 0;

	if (!len || set[len] != '=')
		code = kf_fail(err, KF_E_INPUT, "--set %s: NAME=VALUE is "
			       "wanted", set);
	else if (!json_object_get(sizes, name))
		code = fail_unknown_size(sizes, file, name, err);
	else if (kf_expr_eval(set + len + 1, NULL, 0, &value, &why))
		code = kf_fail(err, KF_E_INPUT, "--set %s: %s", name,
			       why.text);
	else if (value < 1)
		code = kf_fail(err, KF_E_INPUT, "--set %s: a size is at "
			       "least 1", set);
	else
		json_object_set_new(sizes, name, json_integer(value));
	free(name);
	return code;
}

static enum kf_code choose(json_t *json, const char *file,
			   const struct kf_problem_spec *spec,
			   struct kf_err *err)
{
	enum kf_code code = KF_OK;

	if (!json_object_get(json, "sizes"))
		json_object_set_new(json, "sizes", json_object());
	if (spec->size)
		code = choose_preset(json, file, spec->size, err);
	for (size_t i = 0; i < spec->set_count && !code; i++)
		code = choose_size(json, file, spec->set[i], err);
	if (!code && spec->dtype && spec->dtype != KF_F32 &&
	    spec->dtype != KF_F64)
		code = kf_fail(err, KF_E_INPUT, "--dtype: %s is a C problem, "
			       "which can be float32 or float64", file);
	if (spec->dtype)
		json_object_set_new(json, "dtype",
				    json_string(kf_dtype_name(spec->dtype)));
	/* They have served: the same sizes are the same problem. */
	json_object_del(json, "presets");
	return code;
}

/* --- the text ------------------------------------------------------------ */

/* Members on lines of their own, and so the objects in lists: for reading. */
static void print_json(json_t *json, struct kf_buf *out)
{
	const char *key, *before = "{\n";
	json_t *value, *entry;
	size_t i;

	json_object_foreach(json, key, value) {
		bool list = json_is_object(json_array_get(value, 0));
		char *text = json_dumps(value, JSON_ENCODE_ANY |
					JSON_REAL_PRECISION(15));

		kf_buf_printf(out, "%s  \"%s\": ", before, key);
		if (!list)
			kf_buf_puts(out, text);
		json_array_foreach(value, i, entry) {
			char *line;

			if (!list)
				break;
			line = json_dumps(entry, JSON_REAL_PRECISION(15));
			kf_buf_printf(out, "%s\n    %s", i ? "," : "[", line);
			free(line);
		}
		if (list)
			kf_buf_puts(out, "\n  ]");
		free(text);
		before = ",\n";
	}
	kf_buf_puts(out, "\n}\n");
}

static char *source_of(json_t *json, const struct kf_buf *code)
{
	struct kf_buf text = { .max = 4 * JSON_BYTES + CODE_BYTES };
	char *source;

	kf_buf_puts(&text, HEAD_JSON);
	print_json(json, &text);
	kf_buf_puts(&text, HEAD_CODE);
	kf_buf_add(&text, kf_buf_str(code), code->len);
	source = kf_strdup(kf_buf_str(&text));
	kf_buf_release(&text);
	return source;
}

enum kf_code kf_cproblem_read(const struct kf_problem_spec *spec,
			      struct kf_problem *out, struct kf_err *err)
{
	struct kf_buf code_text = { .max = CODE_BYTES };
	char *folder = folder_of(spec->path), *path = NULL;
	struct kf_cproblem parsed = { 0 };
	json_t *json = NULL;
	enum kf_code code = read_json(folder, &path, &json, err);

	/* As it stands, presets and all; then as it was chosen. */
	if (!code)
		code = kf_cproblem_parse(json, path, &parsed, err);
	kf_cproblem_release(&parsed);
	if (!code)
		code = choose(json, path, spec, err);
	if (!code)
		code = kf_cproblem_parse(json, path, &parsed, err);
	kf_cproblem_release(&parsed);
	if (!code)
		code = read_code(folder, &code_text, err);
	if (!code) {
		out->source = source_of(json, &code_text);
		out->name = name_of(folder);
	}
	kf_buf_release(&code_text);
	json_decref(json);
	free(path);
	free(folder);
	return code;
}

enum kf_code kf_cproblem_presets(const struct kf_problem_spec *spec,
				 json_t **out, struct kf_err *err)
{
	char *folder = folder_of(spec->path), *path = NULL;
	json_t *json = NULL;
	enum kf_code code = read_json(folder, &path, &json, err);

	*out = NULL;
	if (!code)
		*out = json_incref(json_object_get(json, "presets"));
	if (!code && !*out)
		*out = json_object();
	json_decref(json);
	free(path);
	free(folder);
	return code;
}

size_t kf_cproblem_files(const struct kf_problem *problem,
			 struct kf_problem_file out[KF_PROBLEM_FILES_MAX])
{
	const char *json = problem->source;
	const char *code = strstr(json, HEAD_CODE);

	if (strncmp(json, HEAD_JSON, strlen(HEAD_JSON)) != 0 || !code)
		return 0;
	json += strlen(HEAD_JSON);
	out[0] = (struct kf_problem_file) {
		.name = KF_CPROBLEM_JSON, .language = "json",
		.text = json, .len = (size_t)(code - json),
	};
	code += strlen(HEAD_CODE);
	out[1] = (struct kf_problem_file) {
		.name = KF_CPROBLEM_CODE, .language = "c",
		.text = code, .len = strlen(code),
	};
	return 2;
}

enum kf_code kf_cproblem_from_source(const struct kf_problem *problem,
				     struct kf_cproblem *out,
				     const char **code_text,
				     struct kf_err *err)
{
	struct kf_problem_file file[KF_PROBLEM_FILES_MAX];
	json_t *json = NULL;
	enum kf_code code;

	*out = (struct kf_cproblem) { 0 };
	*code_text = "";
	if (kf_cproblem_files(problem, file) != 2)
		return kf_fail(err, KF_E_INPUT, "problem %s: its text is not "
			       "that of a C problem", problem->name);
	code = kf_json_parse(file[0].text, file[0].len, KF_CPROBLEM_JSON,
			     &json, err);
	if (!code)
		code = kf_cproblem_parse(json, KF_CPROBLEM_JSON, out, err);
	json_decref(json);
	*code_text = file[1].text;
	return code;
}
