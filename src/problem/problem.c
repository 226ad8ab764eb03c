#include "problem/problem.h"

#include <ctype.h>

#include "problem/cast.h"
#include "problem/kind.h"

#define NAME_BYTES 100

/* "dir/19 ReLU.py" -> "19_ReLU": fit for paths, stores and prompts. */
char *kf_problem_name(const char *path)
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

/* Python takes what no other kind claims. */
enum kf_problem_kind kf_problem_kind_of(const char *path)
{
	for (size_t i = KF_PROBLEM_KINDS; i-- > KF_PROBLEM_PYTHON + 1;)
		if (kf_problem_tables[i]->claims(path))
			return (enum kf_problem_kind)i;
	return KF_PROBLEM_PYTHON;
}

enum kf_code kf_problem_read(const struct kf_problem_spec *spec,
			     struct kf_problem *out, struct kf_err *err)
{
	enum kf_problem_kind kind = kf_problem_kind_of(spec->path);
	enum kf_code code;

	*out = (struct kf_problem) { .kind = kind };
	code = kf_problem_tables[kind]->read(spec, out, err);
	if (code) {
		kf_problem_release(out);
		return code;
	}
	out->path = kf_strdup(spec->path);
	kf_hash_hex(out->source, strlen(out->source), out->hash);
	return KF_OK;
}

enum kf_code kf_problem_presets(const struct kf_problem_spec *spec,
				json_t **out, struct kf_err *err)
{
	enum kf_problem_kind kind = kf_problem_kind_of(spec->path);

	return kf_problem_tables[kind]->presets(spec, out, err);
}

size_t kf_problem_files(const struct kf_problem *problem,
			struct kf_problem_file out[KF_PROBLEM_FILES_MAX])
{
	return kf_problem_tables[problem->kind]->files(problem, out);
}

enum kf_code kf_bundle_open(const struct kf_problem_spec *spec,
			    const struct kf_problem *problem,
			    struct kf_bundle *out, struct kf_err *err)
{
	return kf_problem_tables[problem->kind]->open(spec, problem, out, err);
}

enum kf_dtype kf_problem_cast(const struct kf_problem *problem)
{
	enum kf_dtype dtype;

	if (problem->kind != KF_PROBLEM_PYTHON ||
	    kf_cast_line_get(problem->source, &dtype, NULL))
		return KF_DTYPE_NONE;
	return dtype;
}

void kf_problem_release(struct kf_problem *problem)
{
	free(problem->path);
	free(problem->name);
	free(problem->source);
	free(problem->shape);
	*problem = (struct kf_problem) { 0 };
}
