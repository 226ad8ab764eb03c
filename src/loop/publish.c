#include "loop/publish.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

char *kf_publish_path(const char *run_dir, const struct kf_problem *problem)
{
	return kf_format("%s/best/%s", run_dir, problem->name);
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
	if (attempt->second.verdict)
		json_object_set(whole, "judged_again",
				attempt->second.verdict);
	code = kf_json_write(path, whole, err);
	json_decref(whole);
	free(path);
	return code;
}

static enum kf_code write_all(const char *dir,
			      const struct kf_problem *problem,
			      const struct kf_attempt *attempt,
			      const json_t *verdict, struct kf_err *err)
{
	const struct kf_candidate *candidate = &attempt->candidate;
	struct kf_problem_file file[KF_PROBLEM_FILES_MAX];
	size_t file_count = kf_problem_files(problem, file);
	enum kf_code code = KF_OK;

	for (size_t i = 0; !code && i < candidate->file_count; i++)
		code = kf_file_write_in(dir, candidate->file[i].name,
					candidate->file[i].text,
					candidate->file[i].len, err);
	for (size_t i = 0; !code && i < file_count; i++)
		code = kf_file_write_in(dir, file[i].name, file[i].text,
					file[i].len, err);
	return code ? code : write_verdict(dir, attempt, verdict, err);
}

/* The new folder takes the place of the old one, at once where the file
 * system can exchange names. The old one is then where the new one was. */
static enum kf_code put_in_place(const char *made, const char *dir,
				 struct kf_err *err)
{
	enum kf_code code;

	if (renameat2(AT_FDCWD, made, AT_FDCWD, dir, RENAME_EXCHANGE) == 0)
		return KF_OK;
	code = kf_remove_tree(dir, err);
	if (!code && rename(made, dir))
		code = kf_fail_errno(err, "cannot rename to %s", dir);
	return code;
}

enum kf_code kf_publish_best(const char *run_dir,
			     const struct kf_problem *problem,
			     const struct kf_attempt *attempt,
			     const json_t *verdict, char **path,
			     struct kf_err *err)
{
	char *best = kf_path_join(run_dir, "best");
	char *dir = kf_publish_path(run_dir, problem);
	struct kf_temporary made = { 0 };
	enum kf_code code = kf_mkdir_p(best, err);

	kf_temporaries_sweep(best, "");
	if (!code)
		code = kf_temporary_folder(dir, &made, err);
	if (!code && fchmod(made.fd, 0755))
		code = kf_fail_errno(err, "cannot open %s to readers",
				     made.path);
	if (!code)
		code = write_all(made.path, problem, attempt, verdict, err);
	if (!code)
		code = put_in_place(made.path, dir, err);
	(void)!kf_temporary_remove(&made, NULL);
	free(best);
	*path = dir;
	return code;
}

static enum kf_code verdict_of(struct kf_store *store, int64_t problem_id,
			       int64_t attempt_id, json_t **out,
			       struct kf_err *err)
{
	struct kf_attempt_row *row = NULL;
	size_t count = 0;
	enum kf_code code = kf_store_attempts(store, problem_id, &row, &count,
					      err);

	*out = NULL;
	for (size_t i = 0; !code && i < count; i++)
		if (row[i].id == attempt_id)
			code = kf_json_parse(row[i].verdict_json,
					     strlen(row[i].verdict_json),
					     "a stored verdict", out, err);
	kf_attempt_rows_free(row, count);
	return code;
}

static enum kf_code withdraw(const char *run_dir,
			     const struct kf_problem *problem,
			     struct kf_err *err)
{
	char *dir = kf_publish_path(run_dir, problem);
	enum kf_code code = kf_remove_tree(dir, err);

	free(dir);
	return code;
}

enum kf_code kf_publish_from_store(struct kf_store *store, int64_t problem_id,
				   const struct kf_problem *problem,
				   const struct kf_attempts *attempts,
				   char **path, struct kf_err *err)
{
	const struct kf_attempt *best = kf_attempts_best(attempts);
	json_t *verdict = NULL;
	enum kf_code code;

	free(*path);
	*path = NULL;
	if (!best)
		return withdraw(kf_store_dir(store), problem, err);
	code = verdict_of(store, problem_id, best->id, &verdict, err);
	if (!code)
		code = kf_publish_best(kf_store_dir(store), problem, best,
				       verdict, path, err);
	json_decref(verdict);
	return code;
}
