/* job_files.c - what lies in a job's folder, which somebody else has made. */
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#include "executor/targets.h"

#define DEPTH_MAX 4		/* of folders in it: problem/NAME/... */

enum kf_code kf_job_file(const char *folder, const char *name, char **path,
			 struct kf_err *err)
{
	enum kf_code code = KF_OK;
	struct stat st;

	*path = kf_path_join(folder, name);
	if (lstat(*path, &st))
		code = errno == ENOENT ? KF_OK :
			kf_fail_errno(err, "cannot look at %s", *path);
	else if (S_ISLNK(st.st_mode))
		code = kf_fail(err, KF_E_INPUT, "%s is a link: a job's folder "
			       "wants the file itself", *path);
	else if (!S_ISREG(st.st_mode))
		code = kf_fail(err, KF_E_INPUT, "%s is not a regular file, as "
			       "a job's folder wants it", *path);
	if (code) {
		free(*path);
		*path = NULL;
	}
	return code;
}

/* "NAME HASH", or "NAME none" for a file that is not there. Of a file that is
 * too large to be judged, what would be read of it. */
static enum kf_code add_file(const char *folder, const char *name,
			     struct kf_buf *list, struct kf_err *err)
{
	struct kf_buf text = { .max = KF_REPLY_BYTES_MAX };
	char hash[KF_HASH_HEX] = "none", *path;
	enum kf_code code = kf_job_file(folder, name, &path, err);

	if (!code && kf_path_exists(path)) {
		code = kf_file_read(path, &text, err);
		if (code == KF_E_LIMIT)
			code = KF_OK;
		kf_hash_hex(kf_buf_str(&text), text.len, hash);
	}
	kf_buf_printf(list, "%s %s\n", name, hash);
	kf_buf_release(&text);
	free(path);
	return code;
}

enum kf_code kf_job_hash(const char *folder, char out[KF_HASH_HEX],
			 struct kf_err *err)
{
	struct kf_buf list = { .max = KF_JOB_FILES_MAX * 256 };
	struct kf_job job;
	enum kf_code code = kf_job_read(folder, NULL, &job, err);

	out[0] = '\0';
	if (!code)
		code = add_file(folder, "job.json", &list, err);
	if (!code && job.reply)
		code = add_file(folder, job.reply, &list, err);
	for (size_t i = 0; !code && i < job.file_count; i++)
		code = add_file(folder, job.file[i].name, &list, err);
	if (!code)
		kf_hash_hex(kf_buf_str(&list), list.len, out);
	kf_buf_release(&list);
	kf_job_release(&job);
	return code;
}

json_t *kf_job_file_read(const char *folder, const char *name)
{
	json_t *json = NULL;
	char *path;

	if (kf_job_file(folder, name, &path, NULL))
		return NULL;
	if (kf_path_exists(path) && kf_json_read(path, &json, NULL))
		json = NULL;
	free(path);
	return json;
}

json_t *kf_job_result_of(const char *folder, const char *hash)
{
	json_t *result = kf_job_file_read(folder, "result.json");

	if (kf_json_int(result, "kforge_result", 0) == KF_RESULT_VERSION &&
	    strcmp(kf_json_str(result, "job", ""), hash) == 0)
		return result;
	json_decref(result);
	return NULL;
}

/* --- is all of it there? -------------------------------------------------- */

/* What is no file is refused by who judges. */
static bool has_come(const char *folder, const char *name)
{
	char *path;
	bool come = kf_job_file(folder, name, &path, NULL) != KF_OK ||
		kf_path_exists(path);

	free(path);
	return come;
}

/* One of this machine's own is not carried along. */
static bool problem_has_come(const char *folder, const struct kf_job *job)
{
	struct kf_problem problem = { 0 };
	bool come = job->problem[0] == '/' ||
		kf_targets_problem(job, folder, &problem, NULL) == KF_OK;

	kf_problem_release(&problem);
	return come;
}

static bool is_whole(const char *folder)
{
	json_t *json = kf_job_file_read(folder, "job.json");
	struct kf_job job = { 0 };
	bool whole = json != NULL;

	json_decref(json);
	if (!whole || kf_job_read(folder, NULL, &job, NULL))
		return whole;
	if (job.reply)
		whole = has_come(folder, job.reply);
	for (size_t i = 0; whole && i < job.file_count; i++)
		whole = has_come(folder, job.file[i].name);
	whole = whole && problem_has_come(folder, &job);
	kf_job_release(&job);
	return whole;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Of a folder and all in it, hidden files too: what copies writes to such. By
 * what nobody can set: a copy has the times of what it is one of. */
static uint64_t newest_change(const char *path, unsigned depth)
{
	const struct dirent *entry;
	uint64_t newest;
	struct stat st;
	DIR *dir;

	if (lstat(path, &st))
		return 0;
	newest = (uint64_t)st.st_ctim.tv_sec * KF_NS_PER_S +
		(uint64_t)st.st_ctim.tv_nsec;
	dir = depth && S_ISDIR(st.st_mode) ? opendir(path) : NULL;
	while (dir && (entry = readdir(dir))) {
		char *inner;

		if (strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0)
			continue;
		inner = kf_path_join(path, entry->d_name);
		newest = later(newest, newest_change(inner, depth - 1));
		free(inner);
	}
	if (dir)
		closedir(dir);
	return newest;
}

bool kf_job_has_come(const char *folder, uint64_t now_ns,
		     struct kf_job_copy *copy)
{
	uint64_t changed_ns;

	if (is_whole(folder))
		return true;
	changed_ns = newest_change(folder, DEPTH_MAX);
	if (!copy->since_ns || changed_ns != copy->changed_ns)
		*copy = (struct kf_job_copy) { changed_ns, now_ns };
	return now_ns - copy->since_ns >= KF_JOB_COPY_NS;
}
