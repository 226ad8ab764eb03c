#include "problem/problem.h"

#include <ctype.h>
#include <errno.h>

#include "problem/rewrite.h"

#define SOURCE_BYTES (1u << 20)
#define NAME_BYTES 100

/* "dir/19 ReLU.py" -> "19_ReLU": fit for paths, stores and prompts. */
static char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *stem = slash ? slash + 1 : path;
	const char *dot = strrchr(stem, '.');
	size_t len = dot && dot > stem ? (size_t)(dot - stem) : strlen(stem);
	char *name = kf_strndup(stem, len < NAME_BYTES ? len : NAME_BYTES);

	for (char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
			*c = '_';
	if (name[0] == '.' || !name[0]) {
		free(name);
		name = kf_strdup("problem");
	}
	return name;
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
			       "Python file is wanted", path);
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

enum kf_code kf_problem_read(const struct kf_problem_spec *spec,
			     struct kf_problem *out, struct kf_err *err)
{
	enum kf_code code;

	*out = (struct kf_problem) { 0 };
	code = read_source(spec->path, &out->source, err);
	for (size_t i = 0; !code && i < spec->set_count; i++) {
		char *changed = NULL;

		code = kf_rewrite(out->source, spec->set[i], &changed, err);
		if (code)
			break;
		free(out->source);
		out->source = changed;
	}
	if (code) {
		kf_problem_release(out);
		return code;
	}
	out->path = kf_strdup(spec->path);
	out->name = name_of(spec->path);
	kf_hash_hex(out->source, strlen(out->source), out->hash);
	return KF_OK;
}

void kf_problem_release(struct kf_problem *problem)
{
	free(problem->path);
	free(problem->name);
	free(problem->source);
	*problem = (struct kf_problem) { 0 };
}
