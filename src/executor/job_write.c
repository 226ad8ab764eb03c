#include "executor/job.h"

#include <errno.h>
#include <unistd.h>

static enum kf_code write_named(const char *folder, const char *name,
				const char *text, size_t len,
				struct kf_err *err)
{
	char *path = kf_path_join(folder, name);
	enum kf_code code = kf_file_write_scratch(path, text, len, err);

	free(path);
	return code;
}

static enum kf_code remove_named(const char *folder, const char *name,
				 struct kf_err *err)
{
	char *path = kf_path_join(folder, name);
	enum kf_code code = KF_OK;

	if (unlink(path) && errno != ENOENT)
		code = kf_fail_errno(err, "cannot remove %s", path);
	free(path);
	return code;
}

/* Where write_problem puts it, seen from the job's folder; caller frees. */
static char *problem_path(const struct kf_problem *problem)
{
	struct kf_problem_file file[KF_PROBLEM_FILES_MAX];
	size_t count = kf_problem_files(problem, file);
	const char *dot = strrchr(file[0].name, '.');

	return kf_format("problem/%s%s", problem->name,
			 count > 1 || !dot ? "" : dot);
}

/* The problem as one file, problem/NAME.py, or as a folder, problem/NAME/;
 * *path is where, seen from the job's folder. */
static enum kf_code write_problem(const char *folder,
				  const struct kf_problem *problem,
				  char **path, struct kf_err *err)
{
	struct kf_problem_file file[KF_PROBLEM_FILES_MAX];
	size_t count = kf_problem_files(problem, file);
	const char *dot = strrchr(file[0].name, '.');
	char *below = kf_path_join(folder, "problem");
	char *own = kf_path_join(below, problem->name), *name;
	enum kf_code code = kf_mkdir_p(count > 1 ? own : below, err);

	*path = problem_path(problem);
	if (count == 1) {
		name = kf_format("%s%s", problem->name, dot ? dot : "");
		if (!code)
			code = write_named(below, name, file[0].text,
					   file[0].len, err);
		free(name);
	}
	for (size_t i = 0; count > 1 && i < count && !code; i++)
		code = write_named(own, file[i].name, file[i].text,
				   file[i].len, err);
	free(own);
	free(below);
	return code;
}

static enum kf_code write_files(const char *folder,
				const struct kf_candidate *candidate,
				struct kf_err *err)
{
	enum kf_code code = KF_OK;

	for (size_t i = 0; candidate && !code && i < candidate->file_count;
	     i++)
		code = write_named(folder, candidate->file[i].name,
				   candidate->file[i].text,
				   candidate->file[i].len, err);
	return code;
}

static void set(json_t *object, const char *key, const char *text)
{
	json_object_set_new(object, key, kf_json_string(text, strlen(text)));
}

static json_t *names_of(const struct kf_candidate *candidate)
{
	json_t *list = json_array();

	for (size_t i = 0; candidate && i < candidate->file_count; i++)
		json_array_append_new(list,
				      json_string(candidate->file[i].name));
	return list;
}

/* A problem that is written here has its sizes in it already. */
static void take_problem(json_t *json, const struct kf_problem *problem,
			 const char *path)
{
	set(json, "problem", path);
	set(json, "problem_hash", problem->hash);
	json_object_del(json, "set");
	json_object_del(json, "size");
	json_object_del(json, "dtype");
}

/* What job.json will hold. */
static char *text_of(const struct kf_job *job,
		     const struct kf_candidate *candidate,
		     const struct kf_problem *problem, const char *path)
{
	json_t *json = kf_job_to_json(job);
	char *text;

	if (problem)
		take_problem(json, problem, path);
	if (candidate)
		json_object_set_new(json, "files", names_of(candidate));
	text = json_dumps(json, JSON_INDENT(2));
	json_decref(json);
	return text;
}

enum kf_code kf_job_write(const char *folder, const struct kf_job *job,
			  const struct kf_candidate *candidate,
			  const struct kf_problem *problem,
			  struct kf_err *err)
{
	char *path = NULL, *text = NULL;
	enum kf_code code = kf_mkdir_p(folder, err);

	if (!code)
		code = remove_named(folder, "result.json", err);
	if (!code)
		code = remove_named(folder, "error.json", err);
	if (!code && problem)
		code = write_problem(folder, problem, &path, err);
	if (!code)
		code = write_files(folder, candidate, err);
	if (!code) {
		text = text_of(job, candidate, problem, path);
		code = write_named(folder, "job.json", text, strlen(text),
				   err);
	}
	free(text);
	free(path);
	return code;
}

static bool holds(const char *folder, const char *name, const char *text,
		  size_t len)
{
	struct kf_buf found = { .max = len + 1 };
	char *path = kf_path_join(folder, name);
	bool same = kf_path_exists(path) &&
		kf_file_read(path, &found, NULL) == KF_OK &&
		found.len == len && memcmp(kf_buf_str(&found), text, len) == 0;

	kf_buf_release(&found);
	free(path);
	return same;
}

enum kf_code kf_job_write_if_other(const char *folder,
				   const struct kf_job *job,
				   const struct kf_candidate *candidate,
				   const struct kf_problem *problem,
				   struct kf_err *err)
{
	char *path = problem_path(problem);
	char *text = text_of(job, candidate, problem, path);
	bool same = holds(folder, "job.json", text, strlen(text));

	for (size_t i = 0; candidate && same && i < candidate->file_count; i++)
		same = holds(folder, candidate->file[i].name,
			     candidate->file[i].text, candidate->file[i].len);
	free(text);
	free(path);
	/* Trouble of before is tried again. */
	return same ? remove_named(folder, "error.json", err) :
	       kf_job_write(folder, job, candidate, problem, err);
}
