/* A Python file in the KernelBench form, as one kind of problem. */
#include <errno.h>

#include "problem/bundle_python.h"
#include "problem/cast.h"
#include "problem/eager.h"
#include "problem/kind.h"
#include "problem/preset.h"
#include "problem/python.h"
#include "problem/reference.h"
#include "problem/rewrite.h"

#define SOURCE_BYTES (1u << 20)

/* Whatever no other kind claims. */
static bool claims(const char *path)
{
	(void)path;
	return true;
}

static enum kf_code read_source(const char *path, char **source,
				struct kf_err *err)
{
	struct kf_buf text = { .max = SOURCE_BYTES };
	enum kf_code code;
	json_t *utf8 = NULL;

	if (!kf_path_exists(path)) {
		code = kf_fail(err, KF_E_INPUT, "cannot read problem %s: %s",
			       path, strerror(errno));
		goto out;
	}
	if (kf_path_is_dir(path)) {
		code = kf_fail(err, KF_E_INPUT, "problem %s is a folder; a "
			       "Python file is wanted, or a folder with "
			       "problem.json and reference.c", path);
		goto out;
	}
	code = kf_file_read(path, &text, err);
	if (code == KF_E_LIMIT)
		code = kf_fail(err, KF_E_INPUT, "problem %s is larger than "
			       "%u bytes", path, SOURCE_BYTES);
	if (code)
		goto out;
	/* jansson makes a string of nothing but UTF-8. */
	utf8 = json_stringn(kf_buf_str(&text), text.len);
	if (!utf8 || memchr(kf_buf_str(&text), '\0', text.len))
		code = kf_fail(err, KF_E_INPUT, "problem %s is not a Python "
			       "file in UTF-8", path);
	else
		*source = kf_strdup(kf_buf_str(&text));
out:
	json_decref(utf8);
	kf_buf_release(&text);
	return code;
}

static enum kf_code read_file(const struct kf_problem_spec *spec,
			      struct kf_problem *out, struct kf_err *err)
{
	enum kf_code code = read_source(spec->path, &out->source, err);

	if (!code && spec->size)
		code = kf_preset_apply(&out->source, spec->size, err);
	for (size_t i = 0; !code && i < spec->set_count; i++) {
		char *changed = NULL;

		code = kf_rewrite(out->source, spec->set[i], "--set",
				  &changed, err);
		if (code)
			break;
		free(out->source);
		out->source = changed;
	}
	if (!code)
		code = kf_cast_line_set(&out->source, spec->dtype, err);
	out->name = kf_problem_name(spec->path);
	return code;
}

static enum kf_code describe(const struct kf_problem_spec *spec,
			     json_t *about, struct kf_err *err)
{
	struct kf_python python = { 0 };
	char *cache;
	enum kf_code code = kf_cache_folder(spec->cache_path, &cache, err);

	if (!code)
		code = kf_python_probe(spec->python, cache, &python, err);
	if (!code)
		json_object_set_new(about, "torch",
				    json_string(python.torch));
	kf_python_release(&python);
	free(cache);
	return code;
}

static enum kf_code presets(const struct kf_problem_spec *spec, json_t **out,
			    struct kf_err *err)
{
	char *source = NULL;
	enum kf_code code = read_source(spec->path, &source, err);

	*out = code ? NULL : kf_preset_list(source);
	free(source);
	return code;
}

static size_t files(const struct kf_problem *problem,
		    struct kf_problem_file out[KF_PROBLEM_FILES_MAX])
{
	out[0] = (struct kf_problem_file) {
		.name = "problem.py", .language = "python",
		.text = problem->source, .len = strlen(problem->source),
	};
	return 1;
}

const struct kf_problem_table kf_problem_python = {
	.claims = claims,
	.read = read_file,
	.open = kf_bundle_python,
	.start = kf_eager_start,
	.describe = describe,
	.files = files,
	.presets = presets,
};
