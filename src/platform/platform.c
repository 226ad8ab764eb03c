/* Platform folders: found, read, and refused with one sentence if malformed. */
#include "platform/platform.h"

#include <dirent.h>

#include "platform/form_json.h"

#define TEXT_MAX	(1u << 20)	/* notes, example: bytes each */
#define LIST_MAX	64		/* entries of any list in platform.json */
#define NAME_MAX_BYTES	32

/* What is being read, for error sentences. */
struct reader {
	const char *file;	/* path of platform.json */
	struct kf_err *err;
};

static enum kf_code wrong(const struct reader *r, const char *member,
			  const char *why)
{
	return kf_fail(r->err, KF_E_INPUT, "%s: \"%s\" %s", r->file, member,
		       why);
}

static bool is_name(const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-");

	return len && !name[len] && len <= NAME_MAX_BYTES;
}

/* A plain file name: no folder, not hidden. */
static bool is_file_name(const char *name)
{
	return name[0] && name[0] != '.' && !strchr(name, '/') &&
	       strlen(name) <= 64;
}

/* Refuses members that are not in the NULL-terminated list: a typing error
 * must not silently become a default. */
static enum kf_code only_known(const struct reader *r, json_t *object,
			       const char *where, const char *const *known)
{
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value) {
		size_t i = 0;

		while (known[i] && strcmp(known[i], key) != 0)
			i++;
		if (!known[i])
			return kf_fail(r->err, KF_E_INPUT,
				       "%s: unknown member \"%s\"%s%s",
				       r->file, key, where[0] ? " in " : "",
				       where);
	}
	return KF_OK;
}

static enum kf_code read_text(const struct reader *r, json_t *object,
			      const char *member, char **out)
{
	const char *text = json_string_value(json_object_get(object, member));

	if (!text || !text[0])
		return wrong(r, member, "must be a string that is not empty");
	*out = kf_strdup(text);
	return KF_OK;
}

/* An array of strings, NULL-terminated. */
static enum kf_code read_strings(const struct reader *r, json_t *object,
				 const char *member, char ***out,
				 size_t *count)
{
	json_t *list = json_object_get(object, member);

	if (!json_is_array(list) || json_array_size(list) > LIST_MAX)
		return wrong(r, member, "must be a list of strings");
	*out = kf_alloc((json_array_size(list) + 1) * sizeof((*out)[0]));
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *text = json_string_value(json_array_get(list, i));

		if (!text || !text[0])
			return wrong(r, member, "must be a list of strings");
		(*out)[i] = kf_strdup(text);
		*count = i + 1;
	}
	return KF_OK;
}

static enum kf_code read_files(const struct reader *r, json_t *object,
			       struct kf_platform *p)
{
	static const char *const known[] = { "name", "language", "required",
					     NULL };
	json_t *list = json_object_get(object, "files"), *entry;
	enum kf_code code;
	size_t i;

	if (!json_is_array(list) || !json_array_size(list) ||
	    json_array_size(list) > LIST_MAX)
		return wrong(r, "files", "must be a list of at least one file");
	p->file = kf_alloc(json_array_size(list) * sizeof(p->file[0]));
	json_array_foreach(list, i, entry) {
		struct kf_platform_file *file = &p->file[i];

		p->file_count = i + 1;
		if (!json_is_object(entry))
			return wrong(r, "files", "must be a list of objects");
		code = only_known(r, entry, "\"files\"", known);
		if (!code)
			code = read_text(r, entry, "name", &file->name);
		if (!code)
			code = read_text(r, entry, "language",
					 &file->language);
		if (code)
			return code;
		if (!is_file_name(file->name))
			return wrong(r, "name", "of a file must be a plain "
				     "file name");
		if (!json_is_boolean(json_object_get(entry, "required")))
			return wrong(r, "required", "must be true or false");
		file->required = kf_json_bool(entry, "required", true);
	}
	return KF_OK;
}

static enum kf_code read_dtypes(const struct reader *r, json_t *object,
				struct kf_platform *p)
{
	char **name = NULL;
	size_t count = 0;
	enum kf_code code = read_strings(r, object, "dtypes", &name, &count);

	for (size_t i = 0; i < count; i++) {
		enum kf_dtype dtype = kf_dtype_by_name(name[i]);

		if (dtype == KF_DTYPE_NONE && !code)
			code = kf_fail(r->err, KF_E_INPUT, "%s: \"dtypes\" "
				       "names %s, which is no element type",
				       r->file, name[i]);
		p->dtypes |= UINT64_C(1) << dtype;
		free(name[i]);
	}
	free(name);
	if (!code && !count)
		code = wrong(r, "dtypes", "must name at least one type");
	return code;
}

static enum kf_code read_limit(const struct reader *r, json_t *object,
			       const char *member, uint64_t unit,
			       uint64_t *out)
{
	json_t *value = json_object_get(object, member);
	json_int_t number = json_integer_value(value);

	if (!json_is_integer(value) || number <= 0 || number > 1 << 20)
		return wrong(r, member, "must be a positive whole number");
	*out = (uint64_t)number * unit;
	return KF_OK;
}

static enum kf_code read_limits(const struct reader *r, json_t *object,
				const char *which, struct kf_limits *out)
{
	static const char *const known[] = { "memory_mib", "cpu_s", "wall_s",
		"file_mib", "processes", "descriptors", NULL };
	json_t *limits = json_object_get(object, "limits");
	json_t *one = json_object_get(limits, which);
	uint64_t processes = 0, descriptors = 0;
	const struct {
		const char *member;
		uint64_t unit, *out;
	} rows[] = {
		{ "memory_mib", UINT64_C(1) << 20, &out->memory_bytes },
		{ "cpu_s", KF_NS_PER_S, &out->cpu_ns },
		{ "wall_s", KF_NS_PER_S, &out->wall_ns },
		{ "file_mib", UINT64_C(1) << 20, &out->file_bytes },
		{ "processes", 1, &processes },
		{ "descriptors", 1, &descriptors },
	};
	enum kf_code code;

	if (!json_is_object(one))
		return wrong(r, "limits", "must have \"build\" and \"run\"");
	code = only_known(r, one, "\"limits\"", known);
	for (size_t i = 0; i < KF_COUNT(rows) && !code; i++)
		code = read_limit(r, one, rows[i].member, rows[i].unit,
				  rows[i].out);
	out->processes = (unsigned)processes;
	out->descriptors = (unsigned)descriptors;
	return code;
}

static bool uses(char *const *command, const char *word)
{
	for (size_t i = 0; command[i]; i++)
		if (strstr(command[i], word))
			return true;
	return false;
}

static enum kf_code read_command(const struct reader *r, json_t *object,
				 struct kf_platform *p)
{
	size_t count = 0;
	enum kf_code code;

	code = read_strings(r, object, "compiler", &p->compiler,
			    &p->compiler_count);
	if (!code)
		code = read_strings(r, object, "command", &p->command, &count);
	if (code || !count)
		return code;
	if (!uses(p->command, "{source}") || !uses(p->command, "{output}"))
		return wrong(r, "command", "must use {source} and {output}");
	if (uses(p->command, "{compiler}") != (p->compiler_count > 0))
		return wrong(r, "compiler", "must name compilers exactly if "
			     "the command uses {compiler}");
	return KF_OK;
}

/* How libraries run programs of two parts: { "runtime": "kforge_NAME", "code":
 * "text" or "binary", "addresses": false } */
static enum kf_code read_export_parts(const struct reader *r, json_t *export,
				      struct kf_platform *p)
{
	const char *code_word = kf_json_str(export, "code", "text");
	enum kf_code code;

	if (!p->driver->two_part)
		return KF_OK;
	code = read_text(r, export, "runtime", &p->export_runtime);
	p->export_binary = strcmp(code_word, "binary") == 0;
	p->export_addresses = json_is_true(json_object_get(export,
							   "addresses"));
	if (!code && !p->export_binary && strcmp(code_word, "text") != 0)
		code = wrong(r, "code", "must be \"text\" or \"binary\"");
	return code;
}

/* Optional: { "as": ["c", "torch"], "machine": ["-march=native"] } */
static enum kf_code read_export(const struct reader *r, json_t *object,
				struct kf_platform *p)
{
	static const char *const known[] = { "as", "machine", "runtime",
					     "code", "addresses", NULL };
	json_t *export = json_object_get(object, "export");
	enum kf_code code;

	if (!export)
		return KF_OK;
	if (!json_is_object(export) || !p->command[0])
		return wrong(r, "export", "must be an object, and is for "
			     "platforms with a compile command only");
	code = only_known(r, export, "\"export\"", known);
	if (!code)
		code = read_strings(r, export, "as", &p->export_form,
				    &p->export_form_count);
	if (!code)
		code = read_strings(r, export, "machine", &p->machine_flag,
				    &p->machine_flag_count);
	return code ? code : read_export_parts(r, export, p);
}

static enum kf_code read_driver(const struct reader *r, json_t *object,
				struct kf_platform *p)
{
	char *name = NULL;
	enum kf_code code = read_text(r, object, "driver", &name);

	if (!code) {
		p->driver = kf_driver_by_name(name);
		if (!p->driver)
			code = kf_fail(r->err, KF_E_INPUT, "%s: this build has "
				       "no driver \"%s\"", r->file, name);
	}
	free(name);
	return code;
}

static enum kf_code read_description(const struct reader *r, json_t *object,
				     const char *name, struct kf_platform *p)
{
	static const char *const known[] = { "name", "title", "driver", "files",
		"compiler", "command", "dtypes", "limits", "export",
		"profilers", NULL };
	static const char *const known_limits[] = { "build", "run", NULL };
	enum kf_code code;

	if (!json_is_object(object))
		return kf_fail(r->err, KF_E_INPUT, "%s: not an object",
			       r->file);
	code = only_known(r, object, "", known);
	if (!code)
		code = read_text(r, object, "name", &p->name);
	if (!code && strcmp(p->name, name) != 0)
		code = wrong(r, "name", "must be the name of the folder");
	if (!code)
		code = read_text(r, object, "title", &p->title);
	if (!code)
		code = read_driver(r, object, p);
	if (!code)
		code = read_files(r, object, p);
	if (!code)
		code = read_command(r, object, p);
	if (!code)
		code = read_export(r, object, p);
	if (!code && json_object_get(object, "profilers"))
		code = read_strings(r, object, "profilers", &p->profiler,
				    &p->profiler_count);
	if (!code)
		code = read_dtypes(r, object, p);
	if (!code && json_is_object(json_object_get(object, "limits")))
		code = only_known(r, json_object_get(object, "limits"),
				  "\"limits\"", known_limits);
	if (!code)
		code = read_limits(r, object, "build", &p->build_limits);
	if (!code)
		code = read_limits(r, object, "run", &p->run_limits);
	return code;
}

/* *out = the file's text, or NULL if there is no such file. */
static enum kf_code read_optional(const char *folder, const char *name,
				  char **out, struct kf_err *err)
{
	struct kf_buf text = { .max = TEXT_MAX };
	char *path = kf_path_join(folder, name);
	enum kf_code code = KF_OK;

	if (kf_path_exists(path)) {
		code = kf_file_read(path, &text, err);
		if (!code)
			*out = kf_strdup(kf_buf_str(&text));
	}
	kf_buf_release(&text);
	free(path);
	return code;
}

/* Where notes and example of its form lie. Caller frees. */
static char *texts_folder(const struct kf_platform *p)
{
	if (strcmp(p->form, p->form_name[0]) == 0)
		return kf_strdup(p->folder);
	return kf_format("%s/forms/%s", p->folder, p->form);
}

static enum kf_code read_texts(struct kf_platform *p, struct kf_err *err)
{
	char *folder = texts_folder(p);
	char *example = kf_path_join(folder, "example");
	enum kf_code code = read_optional(folder, "notes.md", &p->notes, err);

	if (!code && !p->notes)
		p->notes = kf_strdup("");
	if (!code)
		code = read_optional(example, "example.py",
				     &p->example_problem, err);
	p->example_text = kf_alloc(p->file_count *
				   sizeof(p->example_text[0]));
	for (size_t i = 0; i < p->file_count && !code; i++)
		code = read_optional(example, p->file[i].name,
				     &p->example_text[i], err);
	free(example);
	free(folder);
	return code;
}

/* What the file says of this form; *whole is a new reference. */
static enum kf_code choose_form(const char *file, const json_t *object,
				const char *form, struct kf_platform *p,
				json_t **whole, struct kf_err *err)
{
	struct kf_forms forms;
	enum kf_code code = kf_form_choose(object, file, form, &forms, whole,
					   err);

	p->form = kf_strdup(form ? form : forms.name[0]);
	p->form_name = forms.name;
	p->form_count = forms.count;
	return code;
}

static enum kf_code load_folder(const char *folder, const char *name,
				const char *form, struct kf_platform **out,
				struct kf_err *err)
{
	char *file = kf_path_join(folder, "platform.json");
	struct reader r = { file, err };
	struct kf_platform *p = kf_alloc(sizeof(*p));
	json_t *object = NULL, *whole = NULL;
	enum kf_code code;

	p->folder = realpath(folder, NULL);
	code = p->folder ? kf_json_read(file, &object, err)
			 : kf_fail_errno(err, "cannot open %s", folder);
	if (!code)
		code = choose_form(file, object, form, p, &whole, err);
	if (!code)
		code = read_description(&r, whole, name, p);
	if (!code)
		code = read_texts(p, err);
	json_decref(whole);
	json_decref(object);
	free(file);
	if (code) {
		kf_platform_free(p);
		return code;
	}
	*out = p;
	return KF_OK;
}

/* The folders that hold platform folders, nearest first: $KFORGE_PLATFORMS,
 * then the installation's. Caller frees both. */
static enum kf_code search_path(char *folder[2], struct kf_err *err)
{
	const char *asked = getenv("KFORGE_PLATFORMS");
	char *home = kf_home(err);

	folder[0] = asked && asked[0] ? kf_strdup(asked) : NULL;
	folder[1] = home ? kf_path_join(home, "platforms") : NULL;
	free(home);
	return folder[0] || folder[1] ? KF_OK : KF_E_UNAVAIL;
}

enum kf_code kf_platform_load(const char *name, struct kf_platform **out,
			      struct kf_err *err)
{
	return kf_platform_load_form(name, NULL, out, err);
}

enum kf_code kf_platform_load_form(const char *name, const char *form,
				   struct kf_platform **out,
				   struct kf_err *err)
{
	char *stem = kf_strndup(name, strcspn(name, ":"));
	char *folder[2] = { NULL, NULL }, *found = NULL;
	enum kf_code code;

	*out = NULL;
	if (!is_name(stem)) {
		code = kf_fail(err, KF_E_INPUT, "'%s' is not the name of a "
			       "platform", name);
		goto out;
	}
	code = search_path(folder, err);
	for (int i = 0; i < 2 && !code && !found; i++) {
		char *path = folder[i] ? kf_path_join(folder[i], stem) : NULL;

		if (path && kf_path_is_dir(path))
			found = path;
		else
			free(path);
	}
	if (!code)
		code = found ? load_folder(found, stem, form, out, err)
			     : kf_fail(err, KF_E_INPUT, "no platform %s; "
				       "`kforge platforms` lists them", stem);
out:
	free(found);
	free(folder[0]);
	free(folder[1]);
	free(stem);
	return code;
}

static void free_strings(char **list, size_t count)
{
	for (size_t i = 0; list && i < count; i++)
		free(list[i]);
	free(list);
}

void kf_platform_free(struct kf_platform *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->file_count; i++) {
		free(p->file[i].name);
		free(p->file[i].language);
	}
	free_strings(p->example_text, p->file_count);
	free_strings(p->form_name, p->form_count);
	free(p->form);
	free(p->file);
	free_strings(p->compiler, p->compiler_count);
	free_strings(p->machine_flag, p->machine_flag_count);
	free_strings(p->export_form, p->export_form_count);
	free(p->export_runtime);
	free_strings(p->profiler, p->profiler_count);
	for (size_t i = 0; p->command && p->command[i]; i++)
		free(p->command[i]);
	free(p->command);
	free(p->example_problem);
	free(p->notes);
	free(p->folder);
	free(p->title);
	free(p->name);
	free(p);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void list_folder(const char *folder, char ***names, size_t *count)
{
	DIR *dir = folder ? opendir(folder) : NULL;
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char *file = kf_format("%s/%s/platform.json", folder,
				       entry->d_name);
		bool new = is_name(entry->d_name) && kf_path_exists(file);

		for (size_t i = 0; i < *count && new; i++)
			new = strcmp((*names)[i], entry->d_name) != 0;
		if (new) {
			*names = kf_realloc(*names, (*count + 1) *
					    sizeof((*names)[0]));
			(*names)[(*count)++] = kf_strdup(entry->d_name);
		}
		free(file);
	}
	if (dir)
		closedir(dir);
}

enum kf_code kf_platform_list(char ***names, size_t *count, struct kf_err *err)
{
	char *folder[2] = { NULL, NULL };
	enum kf_code code;

	*names = NULL;
	*count = 0;
	code = search_path(folder, err);
	for (int i = 0; i < 2 && !code; i++)
		list_folder(folder[i], names, count);
	if (*count)
		qsort(*names, *count, sizeof((*names)[0]), by_text);
	free(folder[0]);
	free(folder[1]);
	return code;
}
