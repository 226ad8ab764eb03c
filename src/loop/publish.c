#include "loop/publish.h"

char *kf_publish_path(const char *run_dir, const struct kf_problem *problem)
{
	return kf_format("%s/best/%s", run_dir, problem->name);
}

static enum kf_code write_named(const char *dir, const char *name,
				const char *text, size_t len,
				struct kf_err *err)
{
	char *path = kf_path_join(dir, name);
	enum kf_code code = kf_file_write(path, text, len, err);

	free(path);
	return code;
}

static enum kf_code write_verdict(const char *dir,
				  const struct kf_attempt *attempt,
				  const json_t *verdict, struct kf_err *err)
{
	char *path = kf_path_join(dir, "verdict.json");
	json_t *whole = json_copy((json_t *)(uintptr_t)verdict);
	enum kf_code code;

	json_object_set_new(whole, "attempt",
			    json_integer((json_int_t)attempt->number));
	code = kf_json_write(path, whole, err);
	json_decref(whole);
	free(path);
	return code;
}

enum kf_code kf_publish_best(const char *run_dir,
			     const struct kf_problem *problem,
			     const struct kf_attempt *attempt,
			     const json_t *verdict, char **path,
			     struct kf_err *err)
{
	const struct kf_candidate *candidate = &attempt->candidate;
	struct kf_problem_file file[KF_PROBLEM_FILES_MAX];
	size_t file_count = kf_problem_files(problem, file);
	char *dir = kf_publish_path(run_dir, problem);
	enum kf_code code = kf_mkdir_p(dir, err);

	for (size_t i = 0; !code && i < candidate->file_count; i++)
		code = write_named(dir, candidate->file[i].name,
				   candidate->file[i].text,
				   candidate->file[i].len, err);
	for (size_t i = 0; !code && i < file_count; i++)
		code = write_named(dir, file[i].name, file[i].text,
				   file[i].len, err);
	if (!code)
		code = write_verdict(dir, attempt, verdict, err);
	*path = dir;
	return code;
}
